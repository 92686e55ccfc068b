// The append-only log: one state for many writers, through rotations, torn records, full disks and unusual file systems.
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
import { FakeClock } from '../support/fake-clock.ts';
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

type Write = (fd: number, bytes: Buffer, from: number, count: number) => number;
const realWrite: Write = (fd, bytes, from, count) => fs.writeSync(fd, bytes, from, count, null);
const withWrite = (write: Write): LogFs => ({ ...fs, writeSync: write as LogFs['writeSync'] });
const segmentIn = (dir: string): number => Number(/\.(\d+)\.log/.exec(fs.readdirSync(dir).join())?.[1]);
const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `r${i}`);

test('append returns the result of its own record even if it reads other records with it, and a reopened log has the same state', () => {
  const dir = tempDir();
  const other = open(dir);
  const racing = open(dir, 1e9, {
    fs: withWrite((fd, bytes, from, count) => {
      const written = realWrite(fd, bytes, from, count);
      other.append('later');
      return written;
    }),
  });
  expect(racing.append('žluťoučký 🐕')).toBe(1);
  racing.close();
  for (const log of [racing, open(dir)]) expect(log.cached()).toEqual(['žluťoučký 🐕', 'later']);
});

// A record that lacks only its line feed is ignored too, because its writer received an error.
test.each([4, 1])('a short write (missing bytes: %i) is an error, and every process ignores the record', (missing) => {
  const dir = tempDir();
  let full = false;
  const tearing = withWrite((fd, bytes, from, count) => realWrite(fd, bytes, from, full ? count - missing : count));
  const log = open(dir, 1e9, { fs: tearing });
  log.append('one');
  full = true;
  expect(() => log.append('two')).toThrow(ShortWriteError);
  full = false;
  log.append('three');
  expect(log.cached()).toEqual(['one', 'three']);
  expect(open(dir).refresh()).toEqual(['one', 'three']);
});

test('a snapshot that a full disk cuts short loses no record, and the state stays known', () => {
  const dir = tempDir();
  let full = true;
  const isSnapshot = (bytes: Buffer): boolean => bytes.toString().includes('#snapshot');
  const tearing = withWrite((fd, bytes, from, count) =>
    realWrite(fd, bytes, from, full && isSnapshot(bytes) ? count - 4 : count),
  );
  const log = open(dir, 1, { fs: tearing });
  expect(() => log.append('one')).toThrow(ShortWriteError);
  expect(log.cached()).toEqual(['one']);
  full = false;
  expect(log.append('two')).toBe(2);
  for (const each of [log, open(dir)]) expect(each.refresh()).toEqual(['one', 'two']);
});

const sealed = (dir: string, ...records: string[]): void => {
  const log = open(dir);
  for (const record of records) log.append(record);
  log.close();
  fs.appendFileSync(join(dir, 'led.1.log'), '~\n#seal .\n');
};

test.each([
  ['', 'that is empty'],
  ['~', 'whose snapshot was torn after one byte'],
  [snapshotFrame(['one', 'two']).slice(0, -1), 'whose snapshot lacks its line break'],
  [snapshotFrame(['another']).replace('another', 'changed'), 'whose snapshot is damaged'],
])('a segment %j, %s, gets its state from the segment before it', (start) => {
  const dir = tempDir();
  sealed(dir, 'one', 'two');
  fs.writeFileSync(join(dir, 'led.2.log'), start);
  const [log, other] = [open(dir), open(dir)];
  expect(log.append('three')).toBe(3);
  for (const each of [log, other, open(dir)]) expect(each.refresh()).toEqual(['one', 'two', 'three']);
});

test('a record before the snapshot of its segment is void', () => {
  const dir = tempDir();
  sealed(dir, 'one');
  fs.writeFileSync(join(dir, 'led.2.log'), recordFrame('5f', 'void'));
  for (const each of [open(dir), open(dir)]) expect(each.refresh()).toEqual(['one']);
});

test('a log whose directory was replaced during a rotation joins the new log in its place', () => {
  const dir = join(tempDir(), 'logs');
  let replaced = false;
  const replacing = withWrite((fd, bytes, from, count) => {
    const written = realWrite(fd, bytes, from, count);
    if (!bytes.toString().includes('#seal')) return written;
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

test('a process that finds two later segments, the last of them empty, reads the state of the one between', () => {
  const dir = tempDir();
  const late = open(dir);
  sealed(dir, 'one');
  fs.writeFileSync(join(dir, 'led.2.log'), `${snapshotFrame(['one'])}${recordFrame('5f', 'two')}${SEAL_FRAME}`);
  fs.writeFileSync(join(dir, 'led.3.log'), '');
  for (const each of [late, open(dir)]) expect(each.refresh()).toEqual(['one', 'two']);
});

test('a record after a seal is void even if the next segment could not be opened at first', () => {
  const dir = tempDir();
  let failing = false;
  const readdirSync = ((path: string) => {
    if (failing) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
    return fs.readdirSync(path);
  }) as LogFs['readdirSync'];
  const log = open(dir, 1e9, { fs: { ...fs, readdirSync } });
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

test('a record that cannot be read back is an error, and is not written again', () => {
  const dir = tempDir();
  const changing = withWrite((fd, bytes, from, count) =>
    realWrite(fd, Buffer.from(bytes.toString().replace('one', 'two')), from, count),
  );
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
  const racing = withWrite((fd, bytes, from, count) => {
    if (bytes.toString().includes('#snapshot')) open(dir).append('two');
    return realWrite(fd, bytes, from, count);
  });
  for (const each of [open(dir, 1e9, { fs: racing }), open(dir, 1e9, { strict: true })])
    expect(each.refresh()).toEqual(['one', 'two']);
  expect(fs.readFileSync(join(dir, 'led.2.log'), 'utf8').match(/#snapshot/g)).toHaveLength(2);
});

// Lists the directory as it was before `change` happened, once, as a process does that is stopped in between.
function listingBefore(change: () => void): LogFs {
  let changed = false;
  const readdirSync = (path: string): string[] => {
    const names = fs.readdirSync(path);
    if (changed || !names.some((name) => name.endsWith('.log'))) return names;
    changed = true;
    change();
    return names;
  };
  return { ...fs, readdirSync: readdirSync as LogFs['readdirSync'] };
}

test('a process that was stopped before it created a segment, while others rotated, continues with their state', () => {
  const dir = tempDir();
  let isStopped = false;
  const stopping = listingBefore(() => {
    const other = open(dir);
    for (const number of [1, 2, 3]) {
      fs.appendFileSync(join(dir, `led.${number}.log`), SEAL_FRAME);
      other.append(`of ${number}`);
    }
  });
  const late = open(dir, 1e9, {
    fs: {
      ...fs,
      readdirSync: ((path: string) => (isStopped ? stopping : fs).readdirSync(path)) as LogFs['readdirSync'],
    },
  });
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

test('a segment whose state is lost is an error, not an endless loop', () => {
  const dir = tempDir();
  fs.writeFileSync(join(dir, 'led.2.log'), '');
  expect(() => open(dir)).toThrow('led.2.log cannot be rotated');
});

test('a log whose first write was torn after one byte can be used, even if it is strict', () => {
  const dir = tempDir();
  fs.writeFileSync(join(dir, 'led.1.log'), '~');
  const log = open(dir, 1e9, { strict: true });
  log.append('one');
  expect(open(dir, 1e9, { strict: true }).refresh()).toEqual(['one']);
});

test('a damaged record (500 mutations) is ignored, or is an error if the log is strict, and is never read as another record', () => {
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

test('an append is one write and one read, and a refresh is one read', () => {
  const calls: string[] = [];
  const { readSync, writeSync, fstatSync, statSync, readdirSync } = fs;
  const counted = Object.entries({ readSync, writeSync, fstatSync, statSync, readdirSync }).map(([name, call]) => [
    name,
    (...args: unknown[]) => {
      calls.push(name);
      return (call as (...args: unknown[]) => unknown)(...args);
    },
  ]);
  const log = open(tempDir(), 1e9, { clock: FakeClock.manual(), fs: { ...fs, ...Object.fromEntries(counted) } });
  calls.length = 0;
  log.append('one');
  log.refresh();
  expect(calls).toEqual(['writeSync', 'readSync', 'readSync']);
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
  const counting: LogFs = {
    ...fs,
    openSync: (...args) => {
      const fd = fs.openSync(...args);
      files.add(fd);
      return fd;
    },
    closeSync: (fd) => {
      expect(files.delete(fd)).toBe(true);
      fs.closeSync(fd);
    },
  };
  const log = open(tempDir(), 300, { fs: counting });
  for (const record of numbered(100)) log.append(record);
  expect(files.size).toBe(1);
  for (let times = 0; times < 2; times++) log.close();
  expect(files.size).toBe(0);
});

test.each<[string, (dir: string) => void]>([
  ['removed', (dir) => fs.rmSync(dir, { recursive: true })],
  ['renamed', (dir) => fs.renameSync(dir, `${dir}.old`)],
  [
    'removed while its file has a second name',
    (dir) => {
      fs.linkSync(join(dir, 'led.1.log'), `${dir}.link`);
      fs.rmSync(dir, { recursive: true });
    },
  ],
  [
    'replaced',
    (dir) => {
      fs.renameSync(dir, `${dir}.old`);
      open(dir).close();
    },
  ],
])('a log whose directory was %s joins the new log in its place', async (_how, change) => {
  for (const strict of [false, true]) {
    const dir = join(tempDir(), 'logs');
    const clock = FakeClock.manual();
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

test('a log checks whether its file is still in place at most once in 10 ms', async () => {
  const clock = FakeClock.manual();
  const statSync = vi.fn(fs.statSync);
  const log = open(tempDir(), 1e9, { clock, fs: { ...fs, statSync } as LogFs });
  for (let ms = 0; ms < 30; ms++) {
    for (const record of numbered(5)) log.append(record);
    await clock.advance(1);
  }
  expect(statSync).toHaveBeenCalledTimes(2);
  clock.at -= 3_600_000;
  log.append('after the clock was set back');
  expect(statSync).toHaveBeenCalledTimes(3);
});

test('a record written after a seal is moved to the next segment once', () => {
  const dir = tempDir();
  const log = open(dir);
  log.append('one');
  let raced = false;
  const racing = withWrite((fd, bytes, from, count) => {
    if (!raced) fs.appendFileSync(join(dir, 'led.1.log'), '\n#seal .\n');
    raced = true;
    return realWrite(fd, bytes, from, count);
  });
  expect(open(dir, 1e9, { fs: racing }).append('two')).toBe(2);
  expect(log.refresh()).toEqual(['one', 'two']);
});

test('five processes that each append 100 records during rotations lose no record', async () => {
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
  ['a dangling symlink', (path) => fs.symlinkSync(join(dirname(path), 'nowhere'), path)],
  ['a named pipe', (path) => execFileSync('mkfifo', [path])],
  ['a directory', (path) => fs.mkdirSync(path)],
  ['a symlink to another file', (path) => fs.symlinkSync(join(dirname(path), '.bashrc'), path)],
])('%s in place of the log file is an error, not an endless loop, and no file is changed', (_what, create) => {
  const dir = tempDir();
  fs.writeFileSync(join(dir, '.bashrc'), 'alias ls=ls\n');
  create(join(dir, 'led.1.log'));
  expect(() => open(dir)).toThrow(/cannot open|not a regular file|ELOOP|EISDIR/);
  expect(fs.readFileSync(join(dir, '.bashrc'), 'utf8')).toBe('alias ls=ls\n');
});

test.runIf(process.getuid)('a log file that another user owns is an error', () => {
  const foreign = (fd: number): fs.Stats => Object.assign(fs.fstatSync(fd), { uid: 4711 });
  const stub: LogFs = { ...fs, fstatSync: foreign as LogFs['fstatSync'] };
  expect(() => open(tempDir(), 1e9, { fs: stub })).toThrow('is owned by another user');
});

// A file system as on Windows and macOS: it finds a file under any spelling, and lists it under the first.
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
