// Transport faults with commands: the documented exit code, stdout empty or complete, one POST.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import type { Outcome } from '../support/processes.ts';
import { place } from '../support/processes.ts';
import { petstore } from '../support/program.ts';
import type { RawServer } from '../support/raw-server.ts';
import { startRawServer } from '../support/raw-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { inProcess } from '../support/world.ts';
import type { Fault } from './transport-faults.ts';
import { FAULTS, faultOptions, startFaulty } from './transport-faults.ts';

const KEY = 'sk_test_secret_0123456789';
const LIST = ['categories', 'list'];
const CREATE = ['categories', 'create', '--name', 'dog'];
const IMPORT = ['categories', 'import', 'rows.csv', '--yes'];

async function faulty(fault: Fault, writesOnly = false): Promise<RawServer> {
  const service = await startFaulty(fault, writesOnly);
  onTestFinished(() => service.close());
  return service;
}

function run(origin: string, args: readonly string[], fault?: Fault): Promise<Outcome> {
  const dir = tempDir();
  writeFileSync(join(dir, 'rows.csv'), 'name\ndog\n');
  const env = { PETSTORE_BASE_URL: `${origin}/v1`, PETSTORE_API_KEY: KEY };
  return inProcess([...args, ...faultOptions(fault)], { env, dir, clock: new FakeClock() });
}

// The whole document, or an error and nothing on stdout.
function expectOutcome({ code, out, err }: Outcome, expected: number, document?: unknown): void {
  expect(code, err).toBe(expected);
  expect(out === '' ? undefined : JSON.parse(out)).toEqual(expected === 0 ? document : undefined);
  if (expected === 0) expect(err).toBe('');
  else
    expect(JSON.parse(err.trim().split('\n').at(-1) ?? '')).toMatchObject({ error: { message: expect.any(String) } });
  expect(err).not.toMatch(/\n\s+at |node:internal|file:\/\//);
  expect(out + err).not.toContain(KEY);
}

// A POST is sent once, and nothing is sent to the target of a redirect.
function expectOnePost({ requests }: RawServer): void {
  expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  expect(requests.filter(({ path }) => path.startsWith('/elsewhere'))).toEqual([]);
}

test.each(Object.entries(FAULTS))(
  'list, create and import end with the documented exit code after the fault "%s", and one POST is sent',
  async (name, fault) => {
    const service = await faulty(fault);
    expectOutcome(await run(service.origin, LIST, fault), fault.read, [{ id: 1, name: 'cat' }]);
    expectOutcome(await run(service.origin, CREATE, fault), fault.create, { id: 2, name: 'dog' });
    expectOnePost(service);

    const looked = await faulty(fault, true);
    const { code, out, err } = await run(looked.origin, IMPORT, fault);
    expectOnePost(looked);
    expect(code, err).toBe(fault.commits ? 0 : fault.create);
    const { created, unknown } = JSON.parse(out);
    expect(created).toEqual(fault.commits ? [expect.objectContaining({ name: 'dog' })] : []);
    expect(unknown).toHaveLength(code === 8 || name === 'redirect' ? 1 : 0);
    expect(err).not.toMatch(/\n\s+at |node:internal/);
  },
);

test('list and create of the built program with a saved profile end with 6 and 8 without a response', async () => {
  const fault = FAULTS['no response'] as Fault;
  const service = await faulty(fault);
  const home = place();
  await petstore(home, ['auth', 'login', '--no-verify', '--url', `${service.origin}/v1`], `${KEY}\n`);
  expectOutcome(await petstore(home, [...LIST, ...faultOptions(fault)]), 6);
  expectOutcome(await petstore(home, [...CREATE, ...faultOptions(fault)]), 8);
  expectOnePost(service);
});

test('a connection that is reset immediately ends list and import with 6, and a create with 6 or 8', async () => {
  const { origin, close } = await startRawServer({ onConnect: (socket) => Boolean(socket.resetAndDestroy()) });
  onTestFinished(close);
  expectOutcome(await run(origin, LIST), 6);
  expect((await run(origin, IMPORT)).code).toBe(6);
  const create = await run(origin, CREATE);
  // The system decides whether the reset precedes the first write.
  expectOutcome(create, create.code === 8 ? 8 : 6);
});
