// Transport faults with commands: the documented exit code, stdout empty or complete, one POST.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import { place } from '../support/processes.ts';
import { petstore } from '../support/program.ts';
import type { RawServer } from '../support/raw-server.ts';
import { startRawServer } from '../support/raw-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { inProcess } from '../support/world.ts';
import type { Fault } from './transport-faults.ts';
import { FAULTS, faultOptions, startFaulty } from './transport-faults.ts';

const KEY = 'sk_test_secret_0123456789';
const KINDS: Readonly<Record<number, string>> = {
  3: 'auth',
  4: 'rejected',
  5: 'rate_limited',
  6: 'network',
  7: 'service',
  8: 'unknown_outcome',
};
const LIST = ['categories', 'list'];
const CREATE = ['categories', 'create', '--name', 'dog'];
const API = ['api', 'POST', '/categories', '--data', '{"name":"dog"}'];
const IMPORT = ['categories', 'import', 'rows.csv', '--yes'];

interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

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

function expectFailure(run: Outcome, code: number): void {
  expect({ code: run.code, err: run.err }).toEqual({ code, err: expect.any(String) });
  expect(run.out).toBe('');
  const lines = run.err.trim().split('\n');
  expect(JSON.parse(lines.at(-1) ?? '').error).toMatchObject({ kind: KINDS[code] });
  expect(run.err).not.toMatch(/\n\s+at |node:internal|file:\/\//);
  expect(run.err).not.toContain(KEY);
}

// A POST is sent once, and nothing is sent to the target of a redirect.
function expectOnePost({ requests }: RawServer): void {
  expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  expect(requests.filter(({ path }) => path.startsWith('/elsewhere'))).toEqual([]);
}

function expectList(run: Outcome, fault: Fault): void {
  if (fault.read !== 0) return void expectFailure(run, fault.read);
  expect(run).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(run.out)).toEqual([{ id: 1, name: 'cat' }]);
}

function expectCreate(run: Outcome, fault: Fault): void {
  if (fault.write !== 0) return void expectFailure(run, fault.write);
  expect(run).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(run.out)).toEqual({ id: 2, name: 'dog' });
}

describe.each(Object.entries(FAULTS))('after the fault "%s"', (_name, fault) => {
  test('create sends one POST and ends with the documented exit code', async () => {
    const service = await faulty(fault);
    expectCreate(await run(service.origin, CREATE, fault), fault);
    expectOnePost(service);
  });

  test('import prints one document and never repeats a POST without a lookup', async () => {
    const service = await faulty(fault, true);
    const result = await run(service.origin, IMPORT, fault);
    expectOnePost(service);
    const code = fault.commits ? 0 : fault.write;
    expect({ code: result.code, err: result.err }).toEqual({ code, err: expect.any(String) });
    const document = JSON.parse(result.out);
    expect(document.created.map((one: { name: string }) => one.name)).toEqual(fault.commits ? ['dog'] : []);
    expect(document.unknown).toHaveLength(code === 8 || fault.undecided ? 1 : 0);
    expect(result.err).not.toMatch(/\n\s+at |node:internal/);
  });
});

// One fault of each exit code of a read, and one that is none.
describe.each(['reset after the request', 'endless body', 'redirect (302)', 'HTML page', 'unauthorized', 'kept open'])(
  'after the fault "%s"',
  (name) => {
    const fault = FAULTS[name] as Fault;

    test('list ends with the documented exit code', async () => {
      const { origin } = await faulty(fault);
      expectList(await run(origin, LIST, fault), fault);
    });

    test('api sends one POST and ends with the documented exit code', async () => {
      const service = await faulty(fault);
      const result = await run(service.origin, API, fault);
      expectOnePost(service);
      if (fault.write !== 0 && !fault.contentOnly) expect(result).toMatchObject({ code: fault.write });
      else expect(result).toMatchObject({ code: 0, err: '' });
      if (result.out !== '') expect(() => JSON.parse(result.out)).not.toThrow();
    });
  },
);

test.each(['no response', 'body cut short'])(
  'list and create of the built program with a saved profile end with the documented exit codes after the fault "%s"',
  async (name) => {
    const fault = FAULTS[name] as Fault;
    const service = await faulty(fault);
    const home = place();
    await petstore(home, ['auth', 'login', '--no-verify', '--url', `${service.origin}/v1`], `${KEY}\n`);
    expectList(await petstore(home, [...LIST, ...faultOptions(fault)]), fault);
    expectCreate(await petstore(home, [...CREATE, ...faultOptions(fault)]), fault);
    expectOnePost(service);
  },
);

test('a read, a create and an import exit with 6 if the connection is refused', async () => {
  const origin = 'http://127.0.0.1:9';
  expectFailure(await run(origin, LIST), 6);
  expectFailure(await run(origin, CREATE), 6);
  expect((await run(origin, IMPORT)).code).toBe(6);
});

test('a connection that is reset immediately ends a read and an import with exit code 6, and a create with 6 or 8', async () => {
  const onConnect = (socket: { resetAndDestroy(): unknown }): boolean => Boolean(socket.resetAndDestroy());
  const service = await startRawServer({ onConnect });
  onTestFinished(() => service.close());
  expectFailure(await run(service.origin, LIST), 6);
  const create = await run(service.origin, CREATE);
  // The system decides whether the reset precedes the first write.
  expectFailure(create, create.code === 6 ? 6 : 8);
  expect((await run(service.origin, IMPORT)).code).toBe(6);
});
