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
const API = ['api', 'POST', '/categories', '--data', '{"name":"dog"}'];
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
}

// A POST is sent once, and nothing is sent to the target of a redirect.
function expectOnePost({ requests }: RawServer): void {
  expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  expect(requests.filter(({ path }) => path.startsWith('/elsewhere'))).toEqual([]);
}

test.each(Object.entries(FAULTS))(
  'create and import send one POST and end with the documented exit code after the fault "%s"',
  async (_name, fault) => {
    const service = await faulty(fault);
    expectOutcome(await run(service.origin, CREATE, fault), fault.write, { id: 2, name: 'dog' });
    expectOnePost(service);

    const looked = await faulty(fault, true);
    const { code, out, err } = await run(looked.origin, IMPORT, fault);
    expectOnePost(looked);
    expect(code, err).toBe(fault.commits ? 0 : fault.write);
    const { created, unknown } = JSON.parse(out);
    expect(created).toEqual(fault.commits ? [expect.objectContaining({ name: 'dog' })] : []);
    expect(unknown).toHaveLength(code === 8 || fault.undecided ? 1 : 0);
    expect(err).not.toMatch(/\n\s+at |node:internal/);
  },
);

// One fault of each exit code of a read, and one that is none.
test.each(['reset after the request', 'redirect (302)', 'HTML page', 'unauthorized', 'kept open'])(
  'list and api end with the documented exit code after the fault "%s"',
  async (name) => {
    const fault = FAULTS[name] as Fault;
    const { origin } = await faulty(fault);
    expectOutcome(await run(origin, LIST, fault), fault.read, [{ id: 1, name: 'cat' }]);
    const service = await faulty(fault);
    const { code, out, err } = await run(service.origin, API, fault);
    expectOnePost(service);
    expect(code, err).toBe(fault.contentOnly ? 0 : fault.write);
    if (code === 0) expect(err).toBe('');
    if (out !== '') expect(() => JSON.parse(out)).not.toThrow();
  },
);

test.each(['no response', 'body cut short'])(
  'list and create of the built program with a saved profile end with the documented exit codes after the fault "%s"',
  async (name) => {
    const fault = FAULTS[name] as Fault;
    const service = await faulty(fault);
    const home = place();
    await petstore(home, ['auth', 'login', '--no-verify', '--url', `${service.origin}/v1`], `${KEY}\n`);
    expectOutcome(await petstore(home, [...LIST, ...faultOptions(fault)]), fault.read);
    expectOutcome(await petstore(home, [...CREATE, ...faultOptions(fault)]), fault.write);
    expectOnePost(service);
  },
);

test('a connection that is refused or reset immediately ends each command with 6, or a create with 6 or 8', async () => {
  const onConnect = (socket: { resetAndDestroy(): unknown }): boolean => Boolean(socket.resetAndDestroy());
  const service = await startRawServer({ onConnect });
  onTestFinished(() => service.close());
  for (const origin of ['http://127.0.0.1:9', service.origin]) {
    expectOutcome(await run(origin, LIST), 6);
    expect((await run(origin, IMPORT)).code).toBe(6);
    const create = await run(origin, CREATE);
    // The system decides whether a reset precedes the first write.
    expectOutcome(create, create.code === 8 && origin === service.origin ? 8 : 6);
  }
});
