// Liveness of the process that wrote a record, even if /proc shows another pid namespace.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { currentProcess, livenessOf } from '../../src/shared-log/process-liveness.ts';
import { compile } from '../support/compile.ts';

const canUnshare = process.platform === 'linux' && process.getuid?.() === 0;

test('a process is dead if its pid is unused or belongs to a process that started at another time', () => {
  expect(livenessOf(currentProcess())).not.toBe('dead');
  if (currentProcess().start !== '') expect(livenessOf({ ...currentProcess(), start: '1' })).toBe('dead');
  expect(livenessOf({ ...currentProcess(), start: '', pid: 2 ** 22 + 1 })).toBe('dead');
});

test('the liveness of a process on another host, or of another boot or pid namespace, is unknown', () => {
  const [host, namespace, boot] = currentProcess().host.split(' ');
  for (const other of [`elsewhere ${namespace} ${boot}`, `${host} pid:[1] ${boot}`, `${host} ${namespace} later`]) {
    expect(livenessOf({ ...currentProcess(), host: other })).toBe('unknown');
  }
});

test.runIf(canUnshare)('a process in a pid namespace does not use the pids of an outer /proc', () => {
  const module = JSON.stringify(compile('src/shared-log/process-liveness.ts'));
  const script = `
    const { currentProcess, livenessOf } = await import(${module});
    const self = currentProcess();
    // The outer /proc shows another process with pid 1, which says nothing about this one.
    console.log(JSON.stringify([self.pid, livenessOf(self), livenessOf({ ...self, pid: 4000000 })]));`;
  const args = ['--pid', '--fork', process.execPath, '--input-type=module', '-e', script];
  expect(JSON.parse(execFileSync('unshare', args).toString())).toEqual([1, 'unknown', 'dead']);
});

test.runIf(process.platform === 'linux')('a zombie process counts as dead', async () => {
  // `exec` replaces the shell, which would otherwise reap its child.
  const parent = spawn('sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 30'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  const stat = (): string[] => readFileSync(`/proc/${pid}/stat`, 'latin1').split(' ');
  while (stat()[2] !== 'Z') await new Promise((resolve) => setTimeout(resolve, 10));
  expect(livenessOf({ ...currentProcess(), pid, start: stat()[21] ?? '' })).toBe('dead');
  parent.kill();
});
