// Whether a process that wrote a record still runs, also where /proc shows another pid namespace.
import { execFileSync } from 'node:child_process';
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
