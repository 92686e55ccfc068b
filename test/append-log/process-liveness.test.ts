// Whether a process that wrote a record still runs, also where /proc shows another pid namespace.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { currentProcess, isAlive } from '../../src/append-log/process-liveness.ts';
import { compile } from '../support/compile.ts';

const canUnshare = process.platform === 'linux' && process.getuid?.() === 0;

test('this process is not dead; one with its pid that started at another time is, or one without a process', () => {
  expect(isAlive(currentProcess())).not.toBe('dead');
  if (currentProcess().start !== '') expect(isAlive({ ...currentProcess(), start: '1' })).toBe('dead');
  expect(isAlive({ ...currentProcess(), start: '', pid: 2 ** 22 + 1 })).toBe('dead');
});

test('a process of another host, boot or pid namespace cannot be judged', () => {
  const [host, namespace, boot] = currentProcess().host.split(' ');
  for (const other of [
    `elsewhere ${namespace} ${boot}`,
    `${host} pid:[1] ${boot}`,
    `${host} ${namespace} another-boot`,
  ]) {
    expect(isAlive({ ...currentProcess(), host: other })).toBe('unknown');
  }
});

test.runIf(canUnshare)('a pid namespace that sees the outer /proc does not judge by the pids there', () => {
  const module = JSON.stringify(compile('src/append-log/process-liveness.ts'));
  const script = `
    const { currentProcess, isAlive } = await import(${module});
    const self = currentProcess();
    // An outer process with this pid and start time would be taken for a dead one of ours.
    console.log(JSON.stringify([self.pid, isAlive(self), isAlive({ ...self, pid: 4000000 })]));`;
  const args = ['--pid', '--fork', process.execPath, '--input-type=module', '-e', script];
  expect(JSON.parse(execFileSync('unshare', args).toString())).toEqual([1, 'unknown', 'dead']);
});

test.runIf(process.platform === 'linux')('a process that ended and was not waited for is dead', async () => {
  // `exec` replaces the shell, which would have waited for its child.
  const parent = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 30'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  const stat = (): string[] => readFileSync(`/proc/${pid}/stat`, 'latin1').split(' ');
  while (stat()[2] !== 'Z') await new Promise((resolve) => setTimeout(resolve, 10));
  expect(isAlive({ ...currentProcess(), pid, start: stat()[21] ?? '' })).toBe('dead');
  parent.kill();
});
