// `categories import` as a process with a saved profile: a signal, two imports at once, and a terminal.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { beforeAll, expect, test } from 'vitest';
import type { ImportDocument } from '../../../src/import/results.ts';
import { hasPty, hasSignals } from '../../support/capabilities.ts';
import type { Place, SandboxProcess } from '../../support/processes.ts';
import { ended, place, startSandbox, untilCreated } from '../../support/processes.ts';
import { BIN, inTerminal, petstore, start } from '../../support/program.ts';

// Slow, so that requests are in flight when a signal arrives; the tests share it with a saved profile, as users have one.
let sandbox: SandboxProcess;
let config: string;

beforeAll(async () => {
  sandbox = await startSandbox(BIN, ['--limit', '100000/1s', '--fault', 'latency=60ms']);
  const { PETSTORE_BASE_URL: url = '', PETSTORE_API_KEY: key = '' } = sandbox.env;
  const at = place();
  expect((await petstore(at, ['auth', 'login', '--url', url, '--no-verify', '-q'], `${key}\n`)).code).toBe(0);
  config = at.env['PETSTORE_CONFIG_DIR'] ?? '';
  return () => sandbox.stop();
});

/** A directory with `rows.csv`, whose names occur in no other test. */
function shop(name: string, rows: number): Place & { readonly names: string[]; listed(): Promise<string[]> } {
  const at = place({ PETSTORE_CONFIG_DIR: config });
  const names = Array.from({ length: rows }, (_, row) => `${name} ${row}`).sort();
  writeFileSync(join(at.dir, 'rows.csv'), `name\n${names.join('\n')}\n`);
  const listed = async (): Promise<string[]> => {
    const headers = { authorization: `Bearer ${sandbox.env['PETSTORE_API_KEY']}` };
    const response = await fetch(`${sandbox.env['PETSTORE_BASE_URL']}/categories`, { headers });
    const all = ((await response.json()) as { name: string }[]).map((category) => category.name);
    return all.filter((one) => one.startsWith(`${name} `)).sort();
  };
  return { ...at, names, listed };
}

test.runIf(hasSignals)(
  'an import after SIGINT finishes requests in flight and prints the command to resume, and a waiting import creates the rest',
  async () => {
    const at = shop('dog', 100);
    const first = start(at, ['categories', 'import', 'rows.csv', '--json', '--concurrency', '2']);
    const interrupted = ended(first);
    await untilCreated(sandbox);
    const second = start(at, ['categories', 'import', 'rows.csv']);
    const resumed = ended(second);
    await once(second.stderr as Readable, 'data');
    first.kill('SIGINT');
    const { code, out, err } = await interrupted;
    const { created, unknown, pending } = JSON.parse(out) as ImportDocument;
    expect([code, unknown, created.length + pending]).toEqual([130, [], 100]);
    const hint = 'run `petstore categories import rows.csv --json --concurrency 2` to resume';
    expect(JSON.parse(err)).toMatchObject({ error: { kind: 'interrupted', hint } });
    const rest = await resumed;
    expect([rest.code, rest.err]).toEqual([0, expect.stringContaining(`import to finish (PID ${first.pid} on `)]);
    expect(rest.out).toBe(`Created ${pending}, skipped ${created.length}, failed 0, unknown 0\n`);
    expect(await at.listed()).toEqual(at.names);
  },
);

test.runIf(hasPty)(
  'an import on a terminal prompts with URL and count, and "no" exits with 130 without an error',
  async () => {
    const at = shop('cat', 3);
    const question = `Create 3 categories at ${sandbox.env['PETSTORE_BASE_URL']} (estimated time: `;
    const answer = (send: string) => ({ steps: [{ after: 'Create 3', send: `${send}\r` }], columns: 120 });
    const no = await inTerminal(at, ['categories', 'import', 'rows.csv'], answer('n'));
    expect([no.code, no.cooked, await at.listed()]).toEqual([130, true, []]);
    expect(no.screen).toContain(question);
    expect(no.screen).not.toContain('error:');
    const yes = await inTerminal(at, ['categories', 'import', 'rows.csv'], answer('y'));
    expect([yes.code, yes.screen]).toEqual([0, expect.stringContaining('Created 3')]);
  },
);
