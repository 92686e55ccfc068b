// Liveness of the process that wrote a record, even if /proc shows another pid namespace.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import type { ProcessRef } from '../../src/shared-log/process-liveness.ts';
import { observeProcesses } from '../../src/shared-log/process-liveness.ts';
import { compile } from '../support/compile.ts';

const { self, livenessOf } = observeProcesses();
const canUnshare = process.platform === 'linux' && process.getuid?.() === 0;

test('a process is dead if its pid is unused or belongs to a process that started at another time', () => {
  expect(livenessOf(self, false)).not.toBe('dead');
  if (self.start !== '') expect(livenessOf({ ...self, start: '1' }, false)).toBe('dead');
  expect(livenessOf({ ...self, start: '', pid: 2 ** 22 + 1 }, false)).toBe('dead');
});

test('the liveness of a process from another host, boot or pid namespace is unknown', () => {
  const [host, namespace, boot] = self.host.split(' ');
  for (const other of [`elsewhere ${namespace} ${boot}`, `${host} pid:[1] ${boot}`, `${host} ${namespace} later`]) {
    expect(livenessOf({ ...self, host: other }, false)).toBe('unknown');
  }
});

test.runIf(process.platform === 'linux')(
  'a process reads its own identity once, and one file for the liveness of another process',
  () => {
    let reads = 0;
    const counted = <Result>(read: (path: string, encoding: 'latin1') => Result) => {
      return (path: string): Result => {
        reads++;
        return read(path, 'latin1');
      };
    };
    const files = { readFileSync: counted(fs.readFileSync), readlinkSync: counted(fs.readlinkSync) };
    const { self, livenessOf } = observeProcesses(files as unknown as typeof fs);
    reads = 0;
    for (let tickets = 0; tickets < 64; tickets++) expect(livenessOf(self, false)).toBe('alive');
    expect(reads).toBe(0);
    expect(livenessOf({ ...self, pid: process.ppid }, false)).toBe('dead');
    expect(reads).toBe(1);
  },
);

test.runIf(process.platform === 'linux')(
  'the liveness of a process that /proc hides is unknown until its pid is unused',
  () => {
    const readFileSync = (path: string) => {
      if (/\d/.test(path)) throw new Error('ENOENT');
      return fs.readFileSync(path, 'latin1');
    };
    const { self, livenessOf } = observeProcesses({ ...fs, readFileSync } as unknown as typeof fs);
    expect(livenessOf({ ...self, pid: process.ppid }, true)).toBe('unknown');
    expect(livenessOf({ ...self, pid: 2 ** 22 + 1 }, true)).toBe('dead');
  },
);

test('without a boot id, a process in the log of a state server has unknown liveness, because hosts may share names', () => {
  const none = (): never => {
    throw new Error('ENOENT');
  };
  const readlinkSync = (path: string) => (path === '/proc/self/ns/pid' ? 'pid:[4026531836]' : none());
  const files = { readFileSync: none, readlinkSync } as unknown as typeof fs;
  const withoutBoot = observeProcesses(files);
  const dead = { ...withoutBoot.self, pid: 2 ** 22 + 1 };
  expect(withoutBoot.livenessOf(dead, false)).toBe('dead');
  expect(withoutBoot.livenessOf(dead, true)).toBe('unknown');
  const observer = observeProcesses(fs);
  const hasBoot = !observer.self.host.endsWith('-');
  expect(observer.livenessOf({ ...observer.self, pid: 2 ** 22 + 1 }, true)).toBe(hasBoot ? 'dead' : 'unknown');
});

test.runIf(canUnshare)('a process in a pid namespace does not use the pids of an outer /proc', () => {
  const module = JSON.stringify(compile('src/shared-log/process-liveness.ts'));
  const script = `
    const { self, livenessOf } = (await import(${module})).observeProcesses();
    // The outer /proc shows another process with pid 1, which says nothing about this one.
    console.log(JSON.stringify([self.pid, livenessOf(self, false), livenessOf({ ...self, pid: 4000000 }, false)]));`;
  const args = ['--pid', '--fork', process.execPath, '--input-type=module', '-e', script];
  expect(JSON.parse(execFileSync('unshare', args).toString())).toEqual([1, 'unknown', 'dead']);
});

test.runIf(process.platform === 'linux')('a zombie process counts as dead', async () => {
  // `exec` replaces the shell, which would otherwise reap its child.
  const parent = spawn('sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 30'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  const stat = (): string[] => fs.readFileSync(`/proc/${pid}/stat`, 'latin1').split(' ');
  while (stat()[2] !== 'Z') await new Promise((resolve) => setTimeout(resolve, 10));
  expect(livenessOf({ ...self, pid, start: stat()[21] ?? '' }, false)).toBe('dead');
  parent.kill();
});

test.runIf(process.platform === 'linux')(
  'a worker thread that was terminated counts as dead in its process',
  async () => {
    const script = `
    const { parentPort } = require('node:worker_threads');
    import(${JSON.stringify(compile('src/shared-log/process-liveness.ts'))})
      .then(({ observeProcesses }) => parentPort.postMessage(observeProcesses().self));
    setInterval(() => undefined, 1000);`;
    const worker = new Worker(script, { eval: true });
    const [thread] = (await once(worker, 'message')) as [ProcessRef];
    expect(livenessOf(thread, false)).toBe('alive');
    await worker.terminate();
    expect(livenessOf(thread, false)).toBe('dead');
    expect(livenessOf(self, false)).toBe('alive');
  },
);
