// What the ledger itself costs: one acquire and one observe, with one process and with eight.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { compile } from '../support/compile.ts';
import { tempDir } from '../support/temp-dir.ts';
import { say } from './report.ts';

const CYCLES = 1500;

// Between two cycles a request would be under way: 5 ms stand for it.
const CHILD = `
const [ledgerFile, clockFile, stateDir] = process.argv.slice(1);
const { openLedger } = await import(ledgerFile); const { systemClock: clock } = await import(clockFile);
const ledger = openLedger({ stateDir, tempDir: stateDir, identity: 'bench', key: 'limits-bench-key-0123456789', clock, timeoutMs: 30000 });
const times = [];
while (times.length < ${CYCLES}) {
  const start = performance.now();
  const answer = ledger.acquire();
  if (answer.granted) {
    const reset = { at: Date.now() + 3600000, clock: 'local', resolution: 1000 };
    ledger.observe(answer.ticket, { at: Date.now(), status: 200, limit: 1000000, remaining: 900000, reset, offset: { lo: -500, hi: 500 }, waitMs: undefined, waitFrom: 'backoff', last: false });
    times.push(performance.now() - start);
  }
  await new Promise((resolve) => setTimeout(resolve, 5));
}
process.stdout.write(JSON.stringify(times));
`;

/** @returns what was missed: p50 over 0.3 ms, p99 over 5 ms */
export async function ledgerTimes(): Promise<string[]> {
  const misses: string[] = [];
  say('\n| ledger: acquire + observe | cycles | p50 | p99 | worst |\n| --- | ---: | ---: | ---: | ---: |');
  for (const processes of [1, 8]) {
    const stateDir = tempDir();
    const args = [
      '--input-type=module',
      '-e',
      CHILD,
      compile('src/rate-limit/ledger.ts'),
      compile('src/clock.ts'),
      stateDir,
    ];
    const run = promisify(execFile);
    const outputs = await Promise.all(
      Array.from({ length: processes }, () => run(process.execPath, args, { maxBuffer: 1e8 })),
    );
    const times = outputs.flatMap(({ stdout }) => JSON.parse(stdout) as number[]).sort((a, b) => a - b);
    const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
    const [p50, p99, worst] = [at(0.5), at(0.99), at(1)];
    say(
      `| ${processes} process${processes > 1 ? 'es' : ''} | ${times.length} | ${p50.toFixed(3)} ms | ${p99.toFixed(2)} ms | ${worst.toFixed(1)} ms |`,
    );
    if (p50 > 0.3) misses.push(`ledger: p50 ${p50.toFixed(3)} ms with ${processes}`);
    if (p99 > 5) misses.push(`ledger: p99 ${p99.toFixed(2)} ms with ${processes}`);
  }
  return misses;
}
