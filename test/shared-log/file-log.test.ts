// The append-only log in files: one state for many writers, despite rotations, torn records, full disks and unusual file systems.
import { execFile, execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { CHECK_EVERY_MS, FileLog } from '../../src/shared-log/file-log.ts';
import { recordFrame, SEAL_FRAME, snapshotFrame } from '../../src/shared-log/framing.ts';
import type { LogFormat } from '../../src/shared-log/log.ts';
import type { LogFs } from '../../src/shared-log/segments.ts';
import { ShortWriteError } from '../../src/shared-log/segments.ts';
import { hasCaseSensitiveNames, hasModes, hasSymlinks } from '../support/capabilities.ts';
import { compile } from '../support/compile.ts';
import type { FakeClock } from '../support/fake-clock.ts';
import { ManualClock } from '../support/fake-clock.ts';
import { mutated } from '../support/mutations.ts';
import { tempDir } from '../support/temp-dir.ts';

// The result of each record is the number of records so far.
const list: LogFormat<string[], number> = {
  initial: () => [],
  apply: (state, record) => state.push(record),
  snapshot: (state) => state,
};

const open = (
  dir: string,
  rotateAtBytes = 1e9,
  more: { fs?: LogFs; strict?: boolean; clock?: FakeClock } = {},
): FileLog<string[], number> => new FileLog(list, { dir, name: 'led', rotateAtBytes, ...more });

/** Replaces each write with `write`, which can pass text on to the file. */
const withWrite = (write: (text: string, pass: (text: string) => number) => number): LogFs => ({
  ...fs,
  writeSync: ((fd: number, bytes: Buffer) =>
    write(bytes.toString(), (text) => fs.writeSync(fd, text))) as LogFs['writeSync'],
});
const withList = (list: (path: string) => string[]): LogFs => ({ ...fs, readdirSync: list as LogFs['readdirSync'] });
const segmentIn = (dir: string): number => Number(/\.(\d+)\.log/.exec(fs.readdirSync(dir).join())?.[1]);
const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `r${i}`);

test('an append returns the result of its own record even if the log reads another record at the same time', () => {
  const dir = tempDir();
  const other = open(dir);
  const racing = open(dir, 1e9, {
    fs: withWrite((text, pass) => {
      const written = pass(text);
      other.append('later');
      return written;
    }),
  });
  expect(racing.append('žluťoučký 🐕')).toBe(1);
  racing.close();
  for (const log of [racing, open(dir)]) expect(log.cached()).toEqual(['žluťoučký 🐕', 'later']);
});

// A record that lacks only its line feed is ignored too, because its writer received an error.
test.each([4, 1])('a short write (missing bytes: %i) causes an error, and no process reads its record', (missing) => {
  const dir = tempDir();
  let full = false;
  const tearing = withWrite((text, pass) => pass(full ? text.slice(0, -missing) : text));
  const log = open(dir, 1e9, { fs: tearing });
  log.append('one');
  full = true;
  expect(() => log.append('two')).toThrow(ShortWriteError);
  full = false;
  log.append('three');
  expect(log.cached()).toEqual(['one', 'three']);
  expect(open(dir).refresh()).toEqual(['one', 'three']);
});

test('a record that is read while it is being written counts once it is complete', () => {
  const dir = tempDir();
  const log = open(dir);
  for (const part of recordFrame('5f', 'one').split(/(?=one)/)) {
    fs.appendFileSync(join(dir, 'led.1.log'), part);
    log.refresh();
  }
  expect(log.cached()).toEqual(['one']);
});

test('if a full disk cuts a snapshot short, no record is lost and the log keeps its state', () => {
  const dir = tempDir();
  let full = true;
  const tearing = withWrite((text, pass) => pass(full && text.includes('#snapshot') ? text.slice(0, -4) : text));
  const log = open(dir, 1, { fs: tearing });
  expect(() => log.append('one')).toThrow(ShortWriteError);
  expect(log.cached()).toEqual(['one']);
  full = false;
  expect(log.append('two')).toBe(2);
  for (const each of [log, open(dir)]) expect(each.refresh()).toEqual(['one', 'two']);
});

function sealed(dir: string, ...records: string[]): void {
  const log = open(dir);
  for (const record of records) log.append(record);
  log.close();
  fs.appendFileSync(join(dir, 'led.1.log'), SEAL_FRAME);
}

test.each([
  ['that is empty', ''],
  ['whose snapshot was torn after one byte', '~'],
  ['whose snapshot lacks its line feed', snapshotFrame(['one', 'two']).slice(0, -1)],
  ['whose snapshot is damaged', snapshotFrame(['another']).replace('another', 'changed')],
  ['whose record has no snapshot before it', recordFrame('5f', 'void')],
])('a segment %s gets its state from the segment before it', (_what, start) => {
  const dir = tempDir();
  sealed(dir, 'one', 'two');
  fs.writeFileSync(join(dir, 'led.2.log'), start);
  const [log, other] = [open(dir), open(dir)];
  expect(log.append('three')).toBe(3);
  for (const each of [log, other, open(dir)]) expect(each.refresh()).toEqual(['one', 'two', 'three']);
});

test('a process whose log directory was replaced during a rotation joins the new log', () => {
  const dir = join(tempDir(), 'logs');
  let replaced = false;
  const replacing = withWrite((text, pass) => {
    const written = pass(text);
    if (text !== SEAL_FRAME) return written;
    replaced = true;
    fs.renameSync(dir, `${dir}.old`);
    open(dir).append('of another');
    return written;
  });
  const log = open(dir, 300, { fs: replacing });
  while (!replaced) log.append('old');
  log.append('new');
  for (const each of [log, open(dir)]) expect(each.refresh()).toEqual(['of another', 'new']);
});

test('a process that finds two later segments, of which the last is empty, reads the state from the other one', () => {
  const dir = tempDir();
  const late = open(dir);
  sealed(dir, 'one');
  fs.writeFileSync(join(dir, 'led.2.log'), `${snapshotFrame(['one'])}${recordFrame('5f', 'two')}${SEAL_FRAME}`);
  fs.writeFileSync(join(dir, 'led.3.log'), '');
  expect(late.refresh()).toEqual(['one', 'two']);
  expect(open(dir).refresh()).toEqual(['one', 'two']);
});

test('a record after a seal is void even if the next segment could not be opened at first', () => {
  const dir = tempDir();
  let failing = false;
  const limited = withList((path) => {
    if (failing) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
    return fs.readdirSync(path);
  });
  const log = open(dir, 1e9, { fs: limited });
  sealed(dir, 'one');
  failing = true;
  expect(() => log.refresh()).toThrow('too many open files');
  fs.appendFileSync(join(dir, 'led.1.log'), recordFrame('5f', 'void'));
  failing = false;
  for (const each of [log, open(dir)]) expect(each.refresh()).toEqual(['one']);
});

test('a damaged line after a seal does not damage a strict log', () => {
  const dir = tempDir();
  sealed(dir, 'one');
  fs.appendFileSync(join(dir, 'led.1.log'), '~\n5f another .\n');
  expect(open(dir, 1e9, { strict: true }).append('two')).toBe(2);
});

test('a record that cannot be read back causes an error, and is not written again', () => {
  const dir = tempDir();
  const changing = withWrite((text, pass) => pass(text.replace('one', 'two')));
  expect(() => open(dir, 1e9, { fs: changing }).append('one')).toThrow(ShortWriteError);
  expect(fs.readFileSync(join(dir, 'led.1.log'), 'utf8').match(/ two /g)).toHaveLength(1);
  expect(open(dir).refresh()).toEqual([]);
});

test('a strict log that another program has damaged gets no further record', () => {
  const dir = tempDir();
  const log = open(dir, 1e9, { strict: true });
  log.append('one');
  fs.appendFileSync(join(dir, 'led.1.log'), '~\n5f another .\n');
  const { size } = fs.statSync(join(dir, 'led.1.log'));
  for (let times = 0; times < 2; times++) expect(() => log.append('two')).toThrow('is damaged');
  expect(fs.statSync(join(dir, 'led.1.log')).size).toBe(size);
});

test('of two snapshots in one segment, the first counts', () => {
  const dir = tempDir();
  sealed(dir, 'one');
  const racing = withWrite((text, pass) => {
    if (text.includes('#snapshot')) open(dir).append('two');
    return pass(text);
  });
  for (const each of [open(dir, 1e9, { fs: racing }), open(dir, 1e9, { strict: true })])
    expect(each.refresh()).toEqual(['one', 'two']);
  expect(fs.readFileSync(join(dir, 'led.2.log'), 'utf8').match(/#snapshot/g)).toHaveLength(2);
});

// Lists the directory once as it was before `change`, like a process that is stopped right after it listed the directory.
function listingBefore(change: () => void): LogFs {
  let changed = false;
  return withList((path) => {
    const names = fs.readdirSync(path);
    if (changed || !names.some((name) => name.endsWith('.log'))) return names;
    changed = true;
    change();
    return names;
  });
}

test('a process that was stopped before a rotation continues with the state of the processes that rotated the log', () => {
  const dir = tempDir();
  let isStopped = false;
  const stopping = listingBefore(() => {
    const other = open(dir);
    for (const number of [1, 2, 3]) {
      fs.appendFileSync(join(dir, `led.${number}.log`), SEAL_FRAME);
      other.append(`of ${number}`);
    }
  });
  const late = open(dir, 1e9, { fs: withList((path) => (isStopped ? stopping : fs).readdirSync(path)) });
  sealed(dir, 'one');
  isStopped = true;
  expect(late.refresh()).toEqual(['one', 'of 1', 'of 2', 'of 3']);
  expect(open(dir).refresh()).toEqual(late.cached());
});

test('a log that is removed while a process opens it begins again with its first segment', () => {
  const dir = tempDir();
  fs.writeFileSync(join(dir, 'led.2.log'), snapshotFrame(['one']));
  const log = open(dir, 1e9, { fs: listingBefore(() => fs.rmSync(join(dir, 'led.2.log'))) });
  expect(log.append('new')).toBe(1);
  expect(fs.readdirSync(dir)).toEqual(['led.1.log']);
});

test('a segment whose state is lost causes an error, not an endless loop', () => {
  const dir = tempDir();
  fs.writeFileSync(join(dir, 'led.2.log'), '');
  expect(() => open(dir)).toThrow(`"${join(dir, 'led.2.log')}" cannot be rotated`);
});

test('a strict log whose first write was torn after one byte can be used', () => {
  const dir = tempDir();
  fs.writeFileSync(join(dir, 'led.1.log'), '~');
  for (const count of [1, 2]) expect(open(dir, 1e9, { strict: true }).append('one')).toBe(count);
});

test('a damaged record is ignored or, in a strict log, causes an error, and is never read as another record', () => {
  const dir = tempDir();
  const file = join(dir, 'led.1.log');
  const log = open(dir);
  for (const record of numbered(5)) log.append(record);
  const whole = fs.readFileSync(file, 'utf8');
  fc.assert(
    fc.property(mutated([whole]), (bytes) => {
      fs.writeFileSync(file, bytes);
      const read = open(dir);
      expect(numbered(5)).toEqual(expect.arrayContaining(read.refresh()));
      read.close();
    }),
    { numRuns: 500 },
  );
  fs.writeFileSync(file, whole.replace('r3', 'r4'));
  expect(open(dir).refresh()).toEqual(['r0', 'r1', 'r2', 'r4']);
  expect(() => open(dir, 1e9, { strict: true })).toThrow('is damaged');
});

test('a 20 MB record is read in large chunks', () => {
  const dir = tempDir();
  open(dir).append('x'.repeat(20_000_000));
  const readSync = vi.fn(fs.readSync);
  expect(open(dir, 1e9, { fs: { ...fs, readSync } as LogFs }).cached()).toHaveLength(1);
  expect(readSync.mock.calls.length).toBeLessThan(20);
});

test('an append is one write and one read, a refresh is one read, and the file is checked at most once in 10 ms', async () => {
  const calls: string[] = [];
  const { readSync, writeSync, fstatSync, statSync, readdirSync } = fs;
  const counted = Object.entries({ readSync, writeSync, fstatSync, statSync, readdirSync }).map(([name, call]) => {
    const count = (...args: never[]): unknown => {
      calls.push(name);
      return (call as (...all: never[]) => unknown)(...args);
    };
    return [name, count];
  });
  const clock = new ManualClock();
  const log = open(tempDir(), 1e9, { clock, fs: { ...fs, ...Object.fromEntries(counted) } });
  for (const [ms, checks] of [
    [0, []],
    [9, []],
    [1, ['statSync']],
    [9, []],
    [-3_600_000, ['statSync']],
  ] as const) {
    clock.at += ms;
    calls.length = 0;
    log.append('one');
    log.refresh();
    expect(calls).toEqual([...checks, 'writeSync', 'readSync', 'readSync']);
  }
});

test('a log whose state exceeds the size limit rotates only when its size has doubled', () => {
  const dir = tempDir();
  const log = open(dir, 400);
  for (const record of numbered(500)) log.append(record);
  expect(segmentIn(dir)).toBeLessThan(20);
});

test('a rotation keeps the state and only the last two segments, which are private to their owner', () => {
  const dir = join(tempDir(), 'inner');
  const [log, other] = [open(dir, 400), open(dir, 400)];
  for (const [i, record] of numbered(200).entries()) expect((i % 2 ? log : other).append(record)).toBe(i + 1);
  expect(log.refresh()).toEqual(numbered(200));
  expect(segmentIn(dir)).toBeGreaterThan(3);
  expect(fs.readdirSync(dir)).toHaveLength(2);
  for (const name of fs.readdirSync(dir))
    expect(fs.readFileSync(join(dir, name), 'utf8').match(/#snapshot/g)).toHaveLength(1);
  if (!hasModes) return;
  expect(fs.statSync(dir).mode & 0o777).toBe(0o700);
  for (const name of fs.readdirSync(dir)) expect(fs.statSync(join(dir, name)).mode & 0o777).toBe(0o600);
});

test('a log has one open file, however often it has rotated, and none after it was closed twice', () => {
  const files = new Set<number>();
  const openSync: LogFs['openSync'] = (...args) => {
    const fd = fs.openSync(...args);
    files.add(fd);
    return fd;
  };
  const closeSync = (fd: number): void => {
    expect(files.delete(fd)).toBe(true);
    fs.closeSync(fd);
  };
  const log = open(tempDir(), 300, { fs: { ...fs, openSync, closeSync } });
  for (const record of numbered(100)) log.append(record);
  expect(files.size).toBe(1);
  for (let times = 0; times < 2; times++) log.close();
  expect(files.size).toBe(0);
});

test.each<[string, (dir: string) => void]>([
  ['removed', (dir) => fs.rmSync(dir, { recursive: true })],
  ['renamed', (dir) => fs.renameSync(dir, `${dir}.old`)],
  [
    'replaced',
    (dir) => {
      fs.renameSync(dir, `${dir}.old`);
      open(dir).close();
    },
  ],
])('a process whose log directory was %s joins the new log', async (_how, change) => {
  for (const strict of [false, true]) {
    const dir = join(tempDir(), 'logs');
    const clock = new ManualClock();
    const [reading, writing] = [open(dir, 1e9, { strict, clock }), open(dir, 1e9, { strict, clock })];
    writing.append('old');
    expect(reading.refresh()).toEqual(['old']);
    change(dir);
    await clock.advance(CHECK_EVERY_MS);
    expect(writing.append('first')).toBe(1);
    const other = open(dir, 1e9, { strict });
    other.append('second');
    for (const log of [reading, writing, other]) expect(log.refresh()).toEqual(['first', 'second']);
    for (const log of [reading, writing, other]) log.close();
  }
});

test('a record written after a seal is appended to the next segment once', () => {
  const dir = tempDir();
  const log = open(dir);
  log.append('one');
  let raced = false;
  const racing = withWrite((text, pass) => {
    if (!raced) fs.appendFileSync(join(dir, 'led.1.log'), SEAL_FRAME);
    raced = true;
    return pass(text);
  });
  expect(open(dir, 1e9, { fs: racing }).append('two')).toBe(2);
  expect(log.refresh()).toEqual(['one', 'two']);
});

test('five processes that each append 100 records during rotations lose and repeat no record', async () => {
  const dir = tempDir();
  const script = `
    const { FileLog } = await import(${JSON.stringify(compile('src/shared-log/file-log.ts'))});
    const log = new FileLog({ initial: () => [], apply: (s, r) => s.push(r), snapshot: (s) => s }, { dir: ${JSON.stringify(dir)}, name: 'led', rotateAtBytes: 4096 });
    for (let i = 0; i < 100; i++) log.append(process.argv[1] + '-' + i);
  `;
  const args = ['--input-type=module', '-e', script];
  const run = promisify(execFile);
  await Promise.all(Array.from({ length: 5 }, (_, i) => run(process.execPath, [...args, String(i)])));
  const records = open(dir, 4096).refresh();
  expect(new Set(records).size).toBe(500);
  expect(records.length).toBe(500);
});

test.runIf(hasSymlinks).each<[string, (path: string) => unknown]>([
  ['a named pipe', (path) => execFileSync('mkfifo', [path])],
  ['a directory', (path) => fs.mkdirSync(path)],
  ['a symbolic link to another file', (path) => fs.symlinkSync(join(dirname(path), '.bashrc'), path)],
  ['a file of another program', (path) => fs.writeFileSync(path, 'alias ls=ls\n')],
])('%s in place of the log file causes an error, not an endless loop, and no file is changed', (_what, create) => {
  const dir = tempDir();
  fs.writeFileSync(join(dir, '.bashrc'), 'alias ls=ls\n');
  const file = join(dir, 'led.1.log');
  create(file);
  const { size } = fs.lstatSync(file);
  const error = /cannot open|not a regular file|not a petstore data file|ELOOP|EISDIR/;
  expect(() => open(dir, 1e9, { strict: true })).toThrow(error);
  expect(fs.lstatSync(file).size).toBe(size);
  expect(fs.readFileSync(join(dir, '.bashrc'), 'utf8')).toBe('alias ls=ls\n');
});

test.runIf(process.getuid)('a log file that another user owns causes an error, and is closed', () => {
  const foreign = (fd: number): fs.Stats => Object.assign(fs.fstatSync(fd), { uid: 4711 });
  const closeSync = vi.fn(fs.closeSync);
  const stub: LogFs = { ...fs, fstatSync: foreign as LogFs['fstatSync'], closeSync };
  expect(() => open(tempDir(), 1e9, { fs: stub })).toThrow('is owned by another user');
  expect(closeSync).toHaveBeenCalledOnce();
});

// A case-insensitive file system, as on Windows and macOS: it lists a file under the name with which it was created.
function caseInsensitive(): LogFs {
  const actual = (path: fs.PathLike): string => {
    const [dir, name] = [dirname(String(path)), basename(String(path)).toLowerCase()];
    return join(dir, fs.readdirSync(dir).find((listed) => listed.toLowerCase() === name) ?? basename(String(path)));
  };
  return {
    ...fs,
    openSync: (path, ...rest) => fs.openSync(actual(path), ...rest),
    statSync: ((path: string) => fs.statSync(actual(path))) as typeof fs.statSync,
    unlinkSync: (path) => fs.unlinkSync(actual(path)),
    existsSync: (path) => fs.existsSync(actual(path)),
  };
}

test('names that differ in case denote one log if the file system ignores case, and otherwise separate logs', () => {
  const [shared, separate] = [tempDir(), tempDir()];
  const [first, second, third] = ['Led', 'led', 'LED'].map((name) => {
    const log = new FileLog(list, { dir: shared, name, rotateAtBytes: 300, fs: caseInsensitive() });
    log.append(name);
    return log;
  });
  for (const [i, record] of numbered(100).entries()) (i % 2 ? first : second)?.append(record);
  for (const log of [first, second, third]) expect(log?.refresh()).toEqual(['Led', 'led', 'LED', ...numbered(100)]);
  expect(fs.readdirSync(shared).length).toBeLessThanOrEqual(2);
  const [upper, lower] = ['Led', 'led'].map((name) => new FileLog(list, { dir: separate, name, rotateAtBytes: 300 }));
  for (const record of numbered(100)) upper?.append(record);
  lower?.append('own');
  expect(lower?.refresh()).toEqual(hasCaseSensitiveNames ? ['own'] : [...numbered(100), 'own']);
  expect(upper?.refresh()).toEqual(hasCaseSensitiveNames ? numbered(100) : [...numbered(100), 'own']);
});
