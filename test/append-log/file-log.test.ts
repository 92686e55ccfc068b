// The append-only log: one truth for many writers, through rotations, torn records and full disks.
import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { LogFormat } from '../../src/append-log/file-log.ts';
import { FileLog } from '../../src/append-log/file-log.ts';
import type { LogFs } from '../../src/append-log/generations.ts';
import { ShortWriteError } from '../../src/append-log/generations.ts';
import { MemoryLog } from '../../src/append-log/memory-log.ts';
import { compile } from '../support/compile.ts';
import { tempDir } from '../support/temp-dir.ts';

const list: LogFormat<string[]> = {
  initial: () => [],
  apply: (state, record) => {
    state.push(record);
  },
  snapshot: (state) => state,
};

const folder = (): string => tempDir();
const open = (dir: string, rotateAtBytes = 1e9, more: { fs?: LogFs; durable?: boolean } = {}): FileLog<string[]> =>
  new FileLog(list, { dir, name: 'led', rotateAtBytes, ...more });

test('a record written by one is seen by the other', () => {
  const dir = folder();
  const a = open(dir);
  const b = open(dir);
  expect(a.append('one')).toEqual(['one']);
  expect(b.append('two')).toEqual(['one', 'two']);
  expect(a.refresh()).toEqual(['one', 'two']);
});

test('a log is found again after it was closed, non-ASCII text included', () => {
  const dir = folder();
  const log = open(dir);
  log.append('žluťoučký 🐕');
  log.close();
  expect(open(dir).refresh()).toEqual(['žluťoučký 🐕']);
});

test('a torn record counts for nobody and does not swallow the next', () => {
  const dir = folder();
  const log = open(dir);
  log.append('one');
  fs.appendFileSync(join(dir, 'led.1.log'), '\nabc to');
  expect(log.append('two')).toEqual(['one', 'two']);
});

test('a short write is an error, and the record is void', () => {
  const dir = folder();
  let full = false;
  const tearing: LogFs = {
    ...fs,
    writeSync: ((fd: number, bytes: Buffer, from: number, count: number, at: null) =>
      fs.writeSync(fd, bytes, from, full ? count - 4 : count, at)) as LogFs['writeSync'],
  };
  const log = open(dir, 1e9, { fs: tearing });
  log.append('one');
  full = true;
  expect(() => log.append('two')).toThrow(ShortWriteError);
  full = false;
  expect(log.append('three')).toEqual(['one', 'three']);
});

test('a record that lacks nothing but its line break is void too: its writer was told that it failed', () => {
  const dir = folder();
  let full = false;
  const tearing: LogFs = {
    ...fs,
    writeSync: ((fd: number, bytes: Buffer, from: number, count: number, at: null) =>
      fs.writeSync(fd, bytes, from, full ? count - 1 : count, at)) as LogFs['writeSync'],
  };
  const log = open(dir, 1e9, { fs: tearing });
  full = true;
  expect(() => log.append('one')).toThrow(ShortWriteError);
  full = false;
  expect(log.append('two')).toEqual(['two']);
  expect(open(dir).refresh()).toEqual(['two']);
});

test('a seal that does not fit on the disk fails nobody: the record before it counts, and the next one seals', () => {
  const dir = folder();
  let full = false;
  const filling: LogFs = {
    ...fs,
    writeSync: ((fd: number, bytes: Buffer, from: number, count: number, at: null) => {
      if (full && bytes.includes('#seal')) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
      return fs.writeSync(fd, bytes, from, count, at);
    }) as LogFs['writeSync'],
  };
  const log = open(dir, 60, { fs: filling });
  full = true;
  for (let i = 0; i < 10; i++) log.append(`r${i}`);
  expect(log.generation).toBe(1);
  full = false;
  expect(log.append('last')).toHaveLength(11);
  expect(log.generation).toBe(2);
});

test('rotation keeps the state, and only the last two generations stay', () => {
  const dir = folder();
  const log = open(dir, 400);
  const other = open(dir, 400);
  for (let i = 0; i < 200; i++) (i % 2 ? log : other).append(`r${i}`);
  expect(log.refresh()).toEqual(Array.from({ length: 200 }, (_, i) => `r${i}`));
  expect(log.generation).toBeGreaterThan(3);
  expect(fs.readdirSync(dir).length).toBeLessThanOrEqual(2);
});

test('a durable log flushes a new generation before it is linked, and its name when it is used', () => {
  const dir = folder();
  const calls: string[] = [];
  const paths = new Map<number, string>();
  const watched: LogFs = {
    ...fs,
    openSync: ((path: string, ...rest: [string | number, number?]) => {
      const fd = fs.openSync(path, ...rest);
      paths.set(fd, path === dir ? 'folder' : /tmp$/.test(path) ? 'draft' : 'log');
      return fd;
    }) as LogFs['openSync'],
    fsyncSync: (fd) => {
      calls.push(`fsync ${paths.get(fd)}`);
      fs.fsyncSync(fd);
    },
    linkSync: (from, to) => {
      calls.push('link');
      fs.linkSync(from, to);
    },
  };
  const log = open(dir, 100, { fs: watched, durable: true });
  expect(calls).toEqual(['fsync folder']);
  while (log.generation === 1) log.append('a record');
  expect(calls).toEqual(['fsync folder', 'fsync draft', 'link', 'fsync folder']);
});

test('a writer that slept through many rotations joins the newest generation and loses nothing', () => {
  const dir = folder();
  const sleeper = open(dir, 300);
  sleeper.append('first');
  const busy = open(dir, 300);
  for (let i = 0; i < 100; i++) busy.append(`r${i}`);
  expect(sleeper.append('late')).toEqual(['first', ...Array.from({ length: 100 }, (_, i) => `r${i}`), 'late']);
  expect(busy.refresh().at(-1)).toBe('late');
});

test('a record behind a seal goes into the next generation, once', () => {
  const dir = folder();
  const log = open(dir);
  log.append('one');
  let raced = false;
  const racing: LogFs = {
    ...fs,
    writeSync: ((fd: number, bytes: Buffer, from: number, count: number, at: null) => {
      if (!raced) {
        raced = true;
        fs.appendFileSync(join(dir, 'led.1.log'), '\n#seal .\n');
      }
      return fs.writeSync(fd, bytes, from, count, at);
    }) as LogFs['writeSync'],
  };
  expect(open(dir, 1e9, { fs: racing }).append('two')).toEqual(['one', 'two']);
  expect(log.refresh()).toEqual(['one', 'two']);
});

test('files are for the owner alone', () => {
  const dir = join(folder(), 'inner');
  open(dir);
  expect(fs.statSync(dir).mode & 0o777).toBe(0o700);
  expect(fs.statSync(join(dir, 'led.1.log')).mode & 0o777).toBe(0o600);
});

test('syncs asked for at the same time share a disk write, and every one of them is after its record', async () => {
  const dir = folder();
  let syncs = 0;
  const counting: LogFs = {
    ...fs,
    fdatasync: ((fd: number, done: fs.NoParamCallback) => {
      syncs++;
      fs.fdatasync(fd, done);
    }) as LogFs['fdatasync'],
  };
  const log = open(dir, 1e9, { fs: counting, durable: true });
  log.append('one');
  await Promise.all(Array.from({ length: 50 }, () => log.sync()));
  expect(syncs).toBe(2);
});

test('a flush under way keeps its file open while the log moves on to the next generation', async () => {
  const dir = folder();
  const late: LogFs = {
    ...fs,
    fdatasync: ((fd: number, done: fs.NoParamCallback) =>
      setImmediate(() => fs.fdatasync(fd, done))) as unknown as LogFs['fdatasync'],
  };
  const log = open(dir, 300, { fs: late, durable: true });
  log.append('one');
  const flushed = log.sync();
  const before = log.generation;
  for (let i = 0; i < 50; i++) log.append(`r${i}`);
  expect(log.generation).toBeGreaterThan(before);
  await flushed;
});

test('8 processes appending 100 records each through rotations lose none', async () => {
  const dir = folder();
  const script = `
    const { FileLog } = await import(${JSON.stringify(compile('src/append-log/file-log.ts'))});
    const log = new FileLog({ initial: () => [], apply: (s, r) => s.push(r), snapshot: (s) => s }, { dir: ${JSON.stringify(dir)}, name: 'led', rotateAtBytes: 4096 });
    for (let i = 0; i < 100; i++) log.append(process.argv[1] + '-' + i);
  `;
  const run = promisify(execFile);
  await Promise.all(
    Array.from({ length: 8 }, (_, i) => run(process.execPath, ['--input-type=module', '-e', script, String(i)])),
  );
  const records = open(dir, 4096).refresh();
  expect(new Set(records).size).toBe(800);
  expect(records.length).toBe(800);
});

test('in memory it is the same log for one process', () => {
  const log = new MemoryLog(list);
  log.append('one');
  expect(log.append('two')).toEqual(['one', 'two']);
});
