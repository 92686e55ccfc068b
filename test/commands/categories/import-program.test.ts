// `categories import` as a process with a saved profile: signals, terminals, and two imports at once.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ImportDocument } from '../../../src/import/results.ts';
import { hasPty, hasSignals } from '../../support/capabilities.ts';
import type { Place, SandboxProcess } from '../../support/processes.ts';
import { ended, place as freshPlace, startSandbox, untilCreated } from '../../support/processes.ts';
import { BIN, inTerminal, petstore, start } from '../../support/program.ts';

let fast: SandboxProcess;
let slow: SandboxProcess;

beforeAll(async () => {
  fast = await startSandbox(BIN, ['--limit', '100000/1s']);
  slow = await startSandbox(BIN, ['--limit', '100000/1s', '--fault', 'latency=150ms']);
});

afterAll(() => Promise.all([fast.stop(), slow.stop()]));

let places = 0;

// Each test uses its own names, since the tests share a sandbox, and a saved profile, as users do.
async function place(sandbox: SandboxProcess, rows: number): Promise<Place & { readonly names: readonly string[] }> {
  const at = freshPlace();
  const { PETSTORE_BASE_URL: url = '', PETSTORE_API_KEY: key = '' } = sandbox.env;
  expect((await petstore(at, ['auth', 'login', '--url', url, '-q'], `${key}\n`)).code).toBe(0);
  const mark = `p${places++}`;
  const names = Array.from({ length: rows }, (_, at) => `${mark} ${at}`);
  writeFileSync(join(at.dir, 'rows.csv'), `name\n${names.join('\n')}\n`);
  return { ...at, names };
}

async function namesAt(at: Awaited<ReturnType<typeof place>>): Promise<string[]> {
  const { out } = await petstore(at, ['categories', 'list', '--json', '--timeout', '2s']);
  const mark = at.names[0]?.split(' ')[0];
  const all = (JSON.parse(out) as { name: string }[]).map(({ name }) => name);
  return all.filter((name) => name.startsWith(`${mark} `)).sort();
}

test.runIf(hasSignals)(
  'an import after SIGINT finishes requests in flight and prints the command to resume',
  async () => {
    const at = await place(slow, 100);
    const child = start(at, ['categories', 'import', 'rows.csv', '--json']);
    const outcome = ended(child);
    await untilCreated(slow);
    child.kill('SIGINT');
    const { code, out, err } = await outcome;
    expect(code).toBe(130);
    const { created, unknown, pending } = JSON.parse(out) as ImportDocument;
    expect([unknown, created.length + pending]).toEqual([[], 100]);
    const hint = 'run `petstore categories import rows.csv --json` to resume';
    expect(JSON.parse(err)).toMatchObject({ error: { kind: 'interrupted', hint } });
    expect(await namesAt(at)).toHaveLength(created.length);
    expect((await petstore(at, ['categories', 'import', 'rows.csv', '-q'])).code).toBe(0);
    expect(await namesAt(at)).toEqual([...at.names].sort());
  },
);

test.runIf(hasSignals)('a waiting import creates the rest after SIGTERM ends the first one with 143', async () => {
  const at = await place(slow, 60);
  const child = start(at, ['categories', 'import', 'rows.csv']);
  const outcome = ended(child);
  await untilCreated(slow);
  const second = start(at, ['categories', 'import', 'rows.csv']);
  const secondOutcome = ended(second);
  await once(second.stderr as Readable, 'data');
  child.kill('SIGTERM');
  const { code, err } = await outcome;
  const hint = 'hint: run `petstore categories import rows.csv` to resume';
  expect([code, err]).toEqual([143, expect.stringContaining(hint)]);
  const rest = await secondOutcome;
  expect([rest.code, rest.err]).toEqual([0, expect.stringContaining(`import to finish (PID ${child.pid} on `)]);
  expect(await namesAt(at)).toEqual([...at.names].sort());
});

test.runIf(hasPty)(
  'an import on a terminal prompts with URL and count, unless --yes is given, and "no" exits with 130 without an error',
  async () => {
    const at = await place(fast, 3);
    const question = `Create 3 categories at ${fast.env['PETSTORE_BASE_URL']} (estimated time: `;
    const answer = (send: string) => ({ steps: [{ after: 'Create 3', send: `${send}\r` }], columns: 120 });
    const no = await inTerminal(at, ['categories', 'import', 'rows.csv'], answer('n'));
    expect([no.code, no.cooked]).toEqual([130, true]);
    expect(no.screen).toContain(question);
    expect(no.screen).not.toContain('error:');
    expect(await namesAt(at)).toEqual([]);
    const yes = await inTerminal(at, ['categories', 'import', 'rows.csv'], answer('y'));
    expect([yes.code, yes.screen]).toEqual([0, expect.stringContaining('Created 3')]);
    writeFileSync(join(at.dir, 'rows.csv'), `name\n${at.names.join('\n')}\n${at.names[0]} more\n`);
    const confirmed = await inTerminal(at, ['categories', 'import', 'rows.csv', '--yes'], { columns: 120 });
    expect([confirmed.code, confirmed.screen.includes(question)]).toEqual([0, false]);
  },
);
