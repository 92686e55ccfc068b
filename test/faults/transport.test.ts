// Every transport fault against every command of the built program: the right exit code, stdout empty or complete, one POST.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Outcome, Place } from '../support/program.ts';
import { petstore, place } from '../support/program.ts';
import type { Fault, Fleet } from './transport-faults.ts';
import { FAULTS, hurried, startFleet } from './transport-faults.ts';

const KEY = 'sk_test_canary_0123456789';
const KINDS: Readonly<Record<number, string>> = {
  3: 'auth',
  4: 'rejected',
  5: 'rate_limited',
  6: 'network',
  7: 'service',
  8: 'unknown_outcome',
};

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet.close());

let runs = 0;
function at(baseUrl: string): Place {
  return place({ PETSTORE_BASE_URL: baseUrl, PETSTORE_API_KEY: KEY });
}

function meet(name: string, which: 'all' | 'post'): { readonly where: Place; readonly posts: () => number } {
  const id = `${name}.${which}.${++runs}`;
  const posts = (): number =>
    fleet.faulty.requests.filter(({ path, method }) => path.startsWith(`/${id}/`) && method === 'POST').length;
  return { where: at(`${fleet.faulty.origin}/${id}/v1`), posts };
}

function expectFailure(run: Outcome, code: number): void {
  expect({ code: run.code, err: run.err }).toEqual({ code, err: expect.any(String) });
  expect(run.out).toBe('');
  const lines = run.err.trim().split('\n');
  expect(JSON.parse(lines.at(-1) ?? '').error).toMatchObject({ kind: KINDS[code], hint: expect.any(String) });
  expect(run.err).not.toMatch(/\n\s+at |node:internal|file:\/\//);
  expect(run.err).not.toContain(KEY);
}

describe.concurrent.each(Object.entries(FAULTS))('%s', (name: string, fault: Fault) => {
  test('list', async () => {
    const run = await petstore(meet(name, 'all').where, ['categories', 'list', ...hurried(fault)]);
    if (fault.read !== 0) return expectFailure(run, fault.read);
    expect(run).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(run.out)).toEqual([{ id: 1, name: 'cat' }]);
  });

  test('create sends one POST', async () => {
    const { where, posts } = meet(name, 'all');
    const run = await petstore(where, ['categories', 'create', '--name', 'dog', ...hurried(fault)]);
    expect(posts()).toBe(1);
    if (fault.write !== 0) return expectFailure(run, fault.write);
    expect(run).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(run.out)).toEqual({ id: 2, name: 'dog' });
  });

  test('api sends one POST too', async () => {
    const { where, posts } = meet(name, 'all');
    const args = ['api', 'POST', '/categories', '--data', '{"name":"dog"}'];
    const run = await petstore(where, [...args, ...hurried(fault)]);
    expect(posts()).toBe(1);
    if (fault.write !== 0 && !fault.contentOnly) return expectFailure(run, fault.write);
    // One JSON document whatever came.
    expect(run).toMatchObject({ code: 0, err: '' });
    expect(() => JSON.parse(run.out)).not.toThrow();
  });

  test('import ends with one document and never sends blindly', async () => {
    const { where, posts } = meet(name, 'post');
    writeFileSync(join(where.dir, 'rows.csv'), 'name\ndog\n');
    const run = await petstore(where, ['categories', 'import', 'rows.csv', '--yes', ...hurried(fault)]);
    expect(posts()).toBe(1);
    const code = fault.commits ? 0 : fault.write;
    expect({ code: run.code, err: run.err }).toEqual({ code, err: expect.any(String) });
    const document = JSON.parse(run.out);
    expect(document.created.map((one: { name: string }) => one.name)).toEqual(fault.commits ? ['dog'] : []);
    expect(document.unknown).toHaveLength(code === 8 || fault.undecided ? 1 : 0);
    expect(run.err).not.toMatch(/\n\s+at |node:internal/);
  });
});

test('nothing is sent where a redirect points, neither key nor body', () => {
  expect(fleet.other.connections()).toBe(0);
});

describe('before a request is read', () => {
  test('the connection is refused: a read and a create end with 6', async () => {
    const url = 'http://127.0.0.1:9/v1';
    expectFailure(await petstore(at(url), ['categories', 'list', ...hurried()]), 6);
    expectFailure(await petstore(at(url), ['categories', 'create', '--name', 'dog', ...hurried()]), 6);
    expect((await importOne(url)).code).toBe(6);
  });

  test('the connection is reset on connect: a read ends with 6, a create says honestly whether a byte may have left', async () => {
    const url = `${fleet.resetting.origin}/v1`;
    expectFailure(await petstore(at(url), ['categories', 'list', ...hurried()]), 6);
    const create = await petstore(at(url), ['categories', 'create', '--name', 'dog', ...hurried()]);
    // Whether the reset or the first write comes first is for the machine to say: both answers are true then.
    expectFailure(create, create.code === 6 ? 6 : 8);
    expect((await importOne(url)).code).toBe(6);
  });
});

function importOne(url: string): Promise<Outcome> {
  const where = at(url);
  writeFileSync(join(where.dir, 'rows.csv'), 'name\ndog\n');
  return petstore(where, ['categories', 'import', 'rows.csv', '--yes', ...hurried()]);
}
