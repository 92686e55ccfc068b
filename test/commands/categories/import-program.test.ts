// `categories import` as a process with a saved profile: a signal, two imports at once, and a terminal.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import type { ImportDocument } from '../../../src/import/results.ts';
import { startSandbox } from '../../../src/sandbox/start.ts';
import { hasPty, hasSignals } from '../../support/capabilities.ts';
import { ended } from '../../support/processes.ts';
import { inTerminal, KEY, savedPlace, start } from '../../support/program.ts';

/** A saved profile of a sandbox that is slow, so that requests are in flight when a signal arrives, and `rows.csv`. */
async function shop(rows: number) {
  const { url, close } = await startSandbox({ keys: [KEY], plan: 'enterprise', faults: ['latency=60ms'] });
  onTestFinished(close);
  const at = savedPlace(url);
  const names = Array.from({ length: rows }, (_, row) => `dog ${row}`).sort();
  writeFileSync(join(at.dir, 'rows.csv'), `name\n${names.join('\n')}\n`);
  const listed = async (): Promise<string[]> => {
    const response = await fetch(`${url}/categories`, { headers: { authorization: `Bearer ${KEY}` } });
    return ((await response.json()) as { name: string }[]).map(({ name }) => name).sort();
  };
  return { ...at, url, names, listed };
}

test.runIf(hasSignals)(
  'an import after SIGINT finishes requests in flight and prints the command to resume, and a waiting import creates the rest',
  async () => {
    const at = await shop(400);
    const first = start(at, ['categories', 'import', 'rows.csv', '--json', '--concurrency', '2']);
    const interrupted = ended(first);
    await expect.poll(at.listed, { timeout: 20_000 }).not.toEqual([]);
    const second = start(at, ['categories', 'import', 'rows.csv', '--concurrency', '32']);
    const resumed = ended(second);
    await once(second.stderr as Readable, 'data');
    const third = start(at, ['categories', 'import', 'rows.csv', '--json']);
    const [waiting] = await once(third.stderr as Readable, 'data');
    expect(JSON.parse(`${waiting}`)).toEqual({
      waiting: { reason: 'import', pid: first.pid, host: expect.any(String) },
    });
    const killed = ended(third);
    third.kill('SIGKILL');
    await killed;
    first.kill('SIGINT');
    const { code, out, err } = await interrupted;
    const { created, unknown, pending } = JSON.parse(out) as ImportDocument;
    expect([code, unknown, created.length + pending]).toEqual([130, [], 400]);
    const hint = 'run `petstore categories import rows.csv --json --concurrency 2` to resume';
    expect(JSON.parse(err)).toMatchObject({ error: { kind: 'interrupted', hint } });
    const rest = await resumed;
    expect([rest.code, rest.err]).toEqual([0, expect.stringContaining(`import to finish (PID ${first.pid} on `)]);
    expect(rest.err.match(/import to finish/g)).toHaveLength(1);
    expect(rest.out).toBe(`Created ${pending}, skipped ${created.length}, failed 0, unknown 0\n`);
    expect(await at.listed()).toEqual(at.names);
  },
);

test.runIf(hasPty)(
  'an import on a terminal prompts with URL and count, and "no" exits with 130 without an error',
  async () => {
    const at = await shop(3);
    const question = `Create 3 categories at ${at.url} (estimated time: `;
    const steps = [{ after: 'Create 3', send: 'n\r' }];
    const no = await inTerminal(at, ['categories', 'import', 'rows.csv'], { steps, columns: 120 });
    expect([no.code, no.cooked, await at.listed()]).toEqual([130, true, []]);
    expect(no.screen).toContain(question);
    expect(no.screen).not.toContain('error:');
  },
);
