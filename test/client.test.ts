// The client library with a sandbox, and with a scripted service for other responses.
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Client, ClientOptions, Wait } from '../src/client.ts';
import { createClient, PetstoreError } from '../src/client.ts';
import { systemClock } from '../src/clock.ts';
import { startSandbox } from '../src/sandbox/start.ts';
import { errorOf, openClient } from './support/client.ts';
import type { FakeResponse, HttpFake } from './support/http-fake.ts';
import { errorResponse, quotaHeaders } from './support/http-fake.ts';
import { until } from './support/processes.ts';
import { scriptedRedis } from './support/scripted-redis.ts';
import { tempDir } from './support/temp-dir.ts';
import { inProcess, serving } from './support/world.ts';

const KEY = 'sandbox_client_test';

/** The options of a client of a new sandbox that allows this many requests per hour. */
async function sandboxOf(count = 60): Promise<{ baseUrl: string; stateDir: string }> {
  const { url, close } = await startSandbox({ keys: [KEY], limits: [`${count}/1h`] });
  onTestFinished(close);
  return { baseUrl: url, stateDir: tempDir() };
}

const open = (options: Partial<ClientOptions>) =>
  openClient({ baseUrl: 'http://127.0.0.1:1/v1', apiKey: KEY, stateDir: tempDir(), ...options });

/** Expects that a call is a usage error with this message (a text or a matcher), and that nothing is sent. */
async function expectUnsent(call: (client: Client) => Promise<unknown>, message: unknown): Promise<void> {
  const fake = await serving(() => ({ body: [] }));
  const error = await errorOf(call(open({ baseUrl: fake.url })));
  expect(error).toMatchObject({ kind: 'usage', message });
  expect(fake.requests).toEqual([]);
}

const received = ({ requests }: HttpFake) => until(() => requests.length > 0);

test('the client library creates and lists categories, and reports the quota', async () => {
  const client = open(await sandboxOf());
  const dog = { id: 1, name: 'dog', description: 'Canis' };
  expect(await client.categories.create({ name: 'dog', description: 'Canis' })).toEqual(dog);
  expect(await client.categories.list()).toEqual([dog]);
  expect(client.quota()).toMatchObject({ limit: 60, remaining: 58, resetPassed: false, blocked: null, shared: true });
  expect(client.quota().resetAt).toBeGreaterThan(Date.now());
});

test('with an exhausted quota and a maximum wait of 0, a call and a command with the same state directory fail', async () => {
  const shared = await sandboxOf(1);
  const client = open({ ...shared, maxWaitMs: 0 });
  await client.categories.list();
  const error = await errorOf(client.categories.list());
  expect(error).toMatchObject({ kind: 'rate_limited', retryAt: client.quota().nextRequestAt });
  expect(error.retryAt).toBeGreaterThan(Date.now());
  const env = { PETSTORE_BASE_URL: shared.baseUrl, PETSTORE_API_KEY: KEY, PETSTORE_STATE_DIR: shared.stateDir };
  expect(await inProcess(['categories', 'list', '--max-wait', '0'], { env })).toMatchObject({ code: 5, out: '' });
});

test.each([
  ['an undefined timeout', undefined],
  ['a fractional timeout', 1000 / 3],
  ['the largest number as its timeout', Number.MAX_VALUE],
])('the client library accepts %s, 999 retries, and other options that are undefined', async (_what, timeoutMs) => {
  const none = { stateUrl: undefined, statePassword: undefined, maxWaitMs: undefined, maxRetries: undefined };
  open({ maxRetries: 999 });
  const { create } = open({ ...(await sandboxOf()), ...none, timeoutMs }).categories;
  const category = { name: 'dog', description: undefined };
  expect(await create(category, { signal: undefined, timeoutMs })).toEqual({ id: 1, name: 'dog' });
});

test('the client library returns an id above 2^53 as a bigint and other fields as plain JSON values', async () => {
  const body = `[{"id":9007199254740993,"name":"dog","price":1.10,"big":9007199254740993,"more":{"list":[1.0,null,"x"]}}]`;
  const { url } = await serving(() => ({ body }));
  const [dog] = await open({ baseUrl: url }).categories.list();
  expect(dog?.id).toBe(9007199254740993n);
  const { id: _id, ...rest } = dog ?? { id: 0 };
  expect(Object.keys(dog ?? {})[0]).toBe('id');
  expect(JSON.stringify(rest)).toBe('{"name":"dog","price":1.1,"big":9007199254740992,"more":{"list":[1,null,"x"]}}');
});

const UNKNOWN = {
  outcome: 'unknown',
  message: 'the call was aborted: the outcome of creating "dog" is unknown',
  hint: 'check whether the category exists before you retry',
};

// A program may abort its other calls with the error of the first.
const REJECTED = new PetstoreError('rejected', 'bad', { status: 400 });

test.each([
  ['list', 'before its request is sent', 0, REJECTED, { outcome: undefined }],
  ['create', 'before its request is sent', 0, REJECTED, { outcome: undefined }],
  ['list', 'in flight', 1, REJECTED, { outcome: undefined }],
  ['create', 'in flight', 1, REJECTED, UNKNOWN],
  ['create', 'in flight with a plain error', 1, new Error('own'), UNKNOWN],
] as const)(
  'a %s call that is aborted %s rejects as interrupted, and the client can be used afterwards',
  async (call, _when, sent, reason, rest) => {
    let response: FakeResponse = 'silence';
    const fake = await serving(() => response);
    const { list, create } = open({ baseUrl: fake.url }).categories;
    const abort = new AbortController();
    const { signal } = abort;
    if (sent === 0) abort.abort(reason);
    const error = errorOf(call === 'list' ? list({ signal }) : create({ name: 'dog' }, { signal }));
    if (sent > 0) await received(fake);
    abort.abort(reason);
    expect(await error).toMatchObject({ kind: 'interrupted', status: undefined, cause: reason, ...rest });
    expect(fake.requests).toHaveLength(sent);
    response = { body: [] };
    expect(await list()).toEqual([]);
  },
);

/** Fails the test if Node.js emits a warning. */
function expectNoWarning() {
  const onWarning = vi.fn();
  process.on('warning', onWarning);
  onTestFinished(() => {
    process.off('warning', onWarning);
    expect(onWarning).not.toHaveBeenCalled();
  });
}

test('many calls in flight, with one signal or none, cause no warning from Node.js', async () => {
  expectNoWarning();
  const listed = { body: [], headers: quotaHeaders() };
  const fake = await serving(() => (fake.requests.length === 1 ? listed : 'silence'));
  const { list, create } = open({ baseUrl: fake.url, maxRetries: 0 }).categories;
  await list();
  const { signal } = new AbortController();
  const calls = Array.from({ length: 15 }, () => [list({ signal }), list(), create({ name: 'dog' })]);
  const ended = Promise.allSettled(calls.flat());
  await until(() => fake.requests.length === 46);
  fake.close();
  await ended;
});

test('an import with many requests in flight causes no warning from Node.js', async () => {
  expectNoWarning();
  const abort = new AbortController();
  const listed = { body: [], headers: quotaHeaders() };
  const fake = await serving(({ method }) => (method === 'GET' ? listed : 'silence'));
  const rows = Array.from({ length: 15 }, (_, row) => ({ name: `dog ${row}` }));
  const ended = errorOf(open({ baseUrl: fake.url }).categories.import(rows, { concurrency: 15, signal: abort.signal }));
  await until(() => fake.requests.length === 16);
  abort.abort();
  await ended;
});

test('calls with one signal share one derived signal, because Node.js 20 and 22 free a derived signal only with its source', async () => {
  const any = vi.spyOn(AbortSignal, 'any');
  onTestFinished(() => any.mockRestore());
  const { create } = open(await sandboxOf()).categories;
  const { signal } = new AbortController();
  for (const name of ['dog', 'cat', 'rabbit']) await create({ name }, { signal });
  expect(any).toHaveBeenCalledOnce();
});

test('the hint of a timeout names `timeoutMs`, and the cause of a failed connection has the system code', async () => {
  const fake = await serving(() => 'silence');
  const { list } = open({ baseUrl: fake.url, maxRetries: 0 }).categories;
  const timedOut = { message: 'the request timed out after 50ms', hint: 'try again with a longer timeoutMs' };
  expect(await errorOf(list({ timeoutMs: 50 }))).toMatchObject({ kind: 'network', ...timedOut });
  fake.close();
  expect(await errorOf(list())).toMatchObject({ kind: 'network', cause: { code: 'ECONNREFUSED' } });
});

test('a call with an invalid proxy variable is a usage error, and the client can be closed', async () => {
  vi.stubEnv('HTTPS_PROXY', 'ftp://proxy.example');
  onTestFinished(() => void vi.unstubAllEnvs());
  const client = open({ baseUrl: 'https://pets.example/v1' });
  const message = 'HTTPS_PROXY is not an http or https URL';
  expect(await errorOf(client.categories.list())).toMatchObject({ kind: 'usage', message });
  await client.close();
});

test('errors of the client library redact an API key that the service repeats', async () => {
  const fake = await serving(() => errorResponse(400, `bad ${KEY}`, `The key ${KEY} may not create.`));
  const error = await errorOf(open({ baseUrl: fake.url }).categories.create({ name: 'dog' }));
  expect(error).toMatchObject({ kind: 'rejected', serviceMessage: 'The key [redacted] may not create.' });
  expect(JSON.stringify([error, error.message, error.stack, error.code])).not.toContain(KEY);
});

test.each<[string, FakeResponse, string, string]>([
  ['status 401', errorResponse(401, 'unauthorized', 'No.'), 'auth', 'auth'],
  ['status 429', errorResponse(429, 'slow', 'No.', { 'retry-after': '3600' }), 'rate_limited', 'rate_limited'],
  ['a redirect', { status: 302, headers: { location: 'https://pets.example/v1/categories' } }, 'service', 'service'],
  ['status 206', { status: 206, body: { id: 1, name: 'dog' } }, 'service', 'unknown_outcome'],
])('%s causes a client library error without a command in its hint', async (_what, response, ofList, ofCreate) => {
  const fake = await serving(() => response);
  const client = open({ baseUrl: fake.url, maxWaitMs: 0, maxRetries: 0 });
  const created = await errorOf(client.categories.create({ name: 'dog' }));
  expect(fake.requests).toHaveLength(1);
  const errors = [await errorOf(client.categories.list()), created];
  expect(errors.map(({ kind }) => kind)).toEqual([ofList, ofCreate]);
  for (const { hint } of errors) expect(hint ?? '').not.toMatch(/petstore|`|--\w/);
});

test('closing a client waits for calls in progress, and later calls are usage errors', async () => {
  const client = open(await sandboxOf());
  const listed = client.categories.list();
  const missing = errorOf(client.categories.get('dog'));
  await client.close();
  expect((await missing).code).toBe('not_found');
  expect(await Promise.race([listed, 'in progress'])).toEqual([]);
  await client[Symbol.asyncDispose]();
  const closed = { kind: 'usage', message: 'the client is closed' };
  expect(await errorOf(client.categories.list())).toMatchObject(closed);
  expect(await errorOf(client.categories.create({ name: 'dog' }))).toMatchObject(closed);
  expect(() => client.quota()).toThrow(expect.objectContaining(closed));
});

test('the `client` options of a sandbox keep the quota in memory, unless the sandbox has a data file', async () => {
  const dir = tempDir();
  vi.stubEnv('PETSTORE_STATE_DIR', dir);
  onTestFinished(() => void vi.unstubAllEnvs());
  await using inMemory = await startSandbox();
  await using inFile = await startSandbox({ data: join(tempDir(), 'pets') });
  const isShared = async (options: Pick<ClientOptions, 'baseUrl' | 'apiKey' | 'stateDir'>): Promise<boolean> => {
    await using client = createClient(options);
    await client.categories.list();
    return client.quota().shared;
  };
  expect([await isShared(inMemory.client), readdirSync(dir)]).toEqual([false, []]);
  expect([await isShared(inFile.client), readdirSync(dir)]).toEqual([true, ['quota']]);
});

test('clients with one key share a quota in memory until the last of them is closed', async () => {
  const options = { ...(await sandboxOf(1)), stateDir: null, maxWaitMs: 0 };
  const [one, two] = [open(options), open(options)];
  await one.categories.list();
  // Nothing is sent: the service would respond with a 429.
  expect(await errorOf(two.categories.list())).toMatchObject({ kind: 'rate_limited', status: undefined });
  await one.close();
  await one.close();
  const three = open(options);
  expect(three.quota().remaining).toBe(0);
  await Promise.all([two.close(), three.close()]);
  expect(open(options).quota().remaining).toBeNull();
});

test('with `stateDir` null, the warning about an unavailable state server says that the rate limit is not shared', async () => {
  const onWarning = vi.fn();
  const { baseUrl } = await sandboxOf();
  const client = open({ baseUrl, stateDir: null, stateUrl: 'redis://127.0.0.1:1', onWarning });
  expect(await client.categories.list()).toEqual([]);
  const warning =
    'cannot use state server 127.0.0.1:1 (connection refused); the rate limit is not shared with other processes';
  expect(onWarning.mock.calls).toEqual([[warning]]);
});

test('`onWait` is called before a retry and for a rate-limit wait, and an abort ends the latter', async () => {
  const waits: Wait[] = [];
  const onWait = (wait: Wait): void => void waits.push(wait);
  const client = open({ ...(await sandboxOf(1)), maxWaitMs: 7_200_000, onWait });
  await client.categories.list();
  const abort = new AbortController();
  const calls = [1, 2].map(() => errorOf(client.categories.create({ name: 'dog' }, { signal: abort.signal })));
  await until(() => waits.length > 0);
  abort.abort();
  const interrupted = { kind: 'interrupted', outcome: undefined };
  expect(await Promise.all(calls)).toMatchObject([interrupted, interrupted]);
  expect(client.quota().inFlight).toBe(0);
  expect(waits).toEqual([{ until: client.quota().nextRequestAt, reason: 'window' }]);
  const fake = await serving(() => (fake.requests.length === 1 ? { status: 503 } : { body: [] }));
  expect(await open({ baseUrl: fake.url, onWait }).categories.list()).toEqual([]);
  expect(waits.at(-1)).toEqual({ until: expect.any(Number), reason: 'backoff' });
});

/** Lets each wait of the client library end at once. */
function skipWaits(): void {
  const slept = vi.spyOn(systemClock, 'sleep').mockImplementation(async () => void (await nextTurn()));
  onTestFinished(() => slept.mockRestore());
}

test('by default, the client library retries a read four times', async () => {
  skipWaits();
  const fake = await serving(() => ({ status: 503 }));
  const { list } = open({ baseUrl: fake.url }).categories;
  expect(await errorOf(list())).toMatchObject({ kind: 'service', status: 503 });
  expect(fake.requests).toHaveLength(5);
});

test.each([
  [0, 'once'],
  [2, 'three times'],
])('with `maxRetries` %i, an import sends an uncertain row %s', async (maxRetries) => {
  skipWaits();
  const fake = await serving(({ method }) => (method === 'GET' ? { body: [] } : { status: 500 }));
  const error = await errorOf(open({ baseUrl: fake.url, maxRetries }).categories.import([{ name: 'dog' }]));
  expect(error.document).toMatchObject({ unknown: [{ row: 1 }] });
  expect(fake.requests.filter(({ method }) => method === 'POST')).toHaveLength(1 + maxRetries);
});

test('by default, a request of the client library times out after 30 s', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const fake = await serving(() => {
    vi.advanceTimersByTime(60_000);
    return 'silence';
  });
  const { list } = open({ baseUrl: fake.url, maxRetries: 0 }).categories;
  expect(await errorOf(list())).toMatchObject({ message: 'the request timed out after 30s' });
});

test('`onWarning` receives warnings, with the API key redacted', async () => {
  const warnings: string[] = [];
  const response = { body: [], headers: { link: '</v1/categories?page=2>; rel="next"', deprecation: 'true' } };
  const fake = await serving(() => (fake.requests.length < 3 ? response : { status: 201, body: { id: 1, name: KEY } }));
  const stateDir = join(tempDir(), 'file');
  writeFileSync(stateDir, '');
  const client = open({ baseUrl: fake.url, stateDir, onWarning: (text) => void warnings.push(text) });
  await client.categories.list();
  await client.request('GET', 'pets/1');
  await client.categories.create({ name: 'dog' });
  expect(warnings).toEqual([
    `cannot write to "${stateDir}" (not a directory); the rate limit is not shared with other processes`,
    'the list is incomplete: the service sent only one page',
    'GET /pets/1 is deprecated',
    'the service changed the name "dog" to "[redacted]"',
  ]);
});

test.each([
  ['JSON', 200, '{"id":9007199254740993,"n":1.5}', { id: 9007199254740993n, n: 1.5 }],
  ['text', 404, '<html>', '<html>'],
  ['no body', 500, '', null],
])('a raw request resolves with %s and the status %i', async (_what, status, sent, body) => {
  const fake = await serving(() => ({ status, body: sent, headers: { 'X-More': 'yes' } }));
  const { request } = open({ baseUrl: fake.url, maxRetries: 0 });
  const response = { status, headers: { 'x-more': 'yes' }, body };
  expect(await request('post', 'pets?x=1', { body: { name: 'dog' } })).toMatchObject(response);
  await request('PUT', '/pets', { body: '{"name": "cat"}' });
  expect(fake.requests).toMatchObject([
    { method: 'POST', path: '/v1/pets?x=1', body: '{"name":"dog"}', headers: { 'content-type': 'application/json' } },
    { method: 'PUT', path: '/v1/pets', body: '{"name": "cat"}' },
  ]);
});

test.each<[string, unknown[], string]>([
  ['an unknown method', ['FETCH', 'x'], 'invalid value "FETCH" for method'],
  ['no path', ['GET'], 'path must be a string'],
  ['a body that is not JSON', ['POST', 'x', { body: '{' }], 'body is not valid JSON'],
  ['a function as its body', ['POST', 'x', { body: () => 1 }], 'body is not valid JSON'],
  ['a symbol as its body', ['POST', 'x', { body: Symbol('x') }], 'body is not valid JSON'],
  ['text that UTF-8 cannot encode', ['POST', 'x', { body: '"\ud800"' }], 'body is not valid JSON'],
  ['an unknown option', ['POST', 'x', { json: {} }], 'unknown option "json" for the call'],
])('a raw request with %s is rejected as a usage error, and nothing is sent', async (_what, given, message) => {
  await expectUnsent(({ request }) => request(...(given as Parameters<typeof request>)), message);
});

test('the client library gets a category by its exact name or id, and rejects an unknown name or id and an ambiguous name', async () => {
  const body =
    '[{"id":1,"name":"dog"},{"id":9007199254740993,"name":"cat"},{"id":3,"name":"eel"},{"id":4,"name":"eel"}]';
  const { url } = await serving(() => ({ body }));
  const { get } = open({ baseUrl: url }).categories;
  const cat = { id: 9007199254740993n, name: 'cat' };
  expect([await get('dog'), await get({ id: 9007199254740993n })]).toEqual([{ id: 1, name: 'dog' }, cat]);
  const missing = { kind: 'rejected', code: 'not_found', status: undefined };
  expect(await errorOf(get('Dog'))).toMatchObject({ ...missing, hint: 'did you mean "dog"?' });
  expect(await errorOf(get('1'))).toMatchObject({ ...missing, hint: 'get the category by its id' });
  expect(await errorOf(get({ id: 5 }))).toMatchObject({ ...missing, message: 'category with id 5 does not exist' });
  expect(await errorOf(get('eel'))).toMatchObject({
    ...missing,
    code: 'ambiguous',
    hint: 'get the category by its id',
  });
});

test.each([[''], [undefined], [{}], [{ id: '1' }], [{ id: 1.5 }], [null]])(
  'getting the category %j is a usage error, and nothing is sent',
  async (wanted) => {
    const message = 'the category must be a name or an object with an integer id';
    await expectUnsent(({ categories }) => categories.get(wanted as string), message);
  },
);

test('a create with `ifMissing` returns the existing category, with a warning if its description differs', async () => {
  const warnings: string[] = [];
  const { create, list } = open({ ...(await sandboxOf()), onWarning: (text) => void warnings.push(text) }).categories;
  const ifMissing = true;
  const dog = { id: 1, name: 'dog', description: 'pet' };
  expect(await create({ name: 'dog', description: 'pet' }, { ifMissing })).toEqual(dog);
  expect([await create({ name: 'dog', description: 'other' }, { ifMissing }), await list()]).toEqual([dog, [dog]]);
  // JavaScript programs may pass another truthy value.
  expect([await create({ name: 'dog' }, { ifMissing: 1 as unknown as true }), await list()]).toEqual([dog, [dog]]);
  expect(warnings).toEqual(['existing category "dog" has the description "pet"; the given description was ignored']);
});

test('an exception in `onWarning` becomes an uncaught exception, and the create that caused the warning resolves', async () => {
  const handlers = process.listeners('uncaughtException');
  onTestFinished(() => handlers.forEach((handler) => void process.on('uncaughtException', handler)));
  process.removeAllListeners('uncaughtException');
  const thrown = new Error('in onWarning');
  const caught = once(process, 'uncaughtException');
  const { url } = await serving(() => ({ status: 201, body: { id: 1, name: 'Dog' } }));
  const onWarning = (): never => {
    throw thrown;
  };
  expect(await open({ baseUrl: url, onWarning }).categories.create({ name: 'dog' })).toEqual({ id: 1, name: 'Dog' });
  expect((await caught)[0]).toBe(thrown);
});

test('a client authenticates to the state server with `statePassword`, and the hint after a rejection names this option', async () => {
  const server = await scriptedRedis((_command, socket) => socket.write('-WRONGPASS\r\n'));
  onTestFinished(server.close);
  const { list } = open({ stateUrl: `redis://127.0.0.1:${server.port}`, statePassword: 'x' }).categories;
  const hint = 'check statePassword and the user in stateUrl';
  expect(await errorOf(list())).toMatchObject({ kind: 'usage', hint });
  expect(server.commands).toEqual(['AUTH']);
});

test.runIf(process.platform !== 'win32')(
  'an import without a home directory fails before anything is sent, and the hint names `stateDir`',
  async () => {
    for (const name of ['HOME', 'XDG_STATE_HOME', 'PETSTORE_STATE_DIR']) vi.stubEnv(name, '');
    onTestFinished(() => void vi.unstubAllEnvs());
    const fake = await serving(() => ({ body: [] }));
    const client = open({ baseUrl: fake.url, stateDir: undefined });
    const error = { kind: 'storage', message: 'cannot determine the home directory', hint: 'set stateDir' };
    expect(await errorOf(client.categories.import([{ name: 'dog' }]))).toMatchObject(error);
    expect(fake.requests).toEqual([]);
  },
);

test('an empty `stateUrl` counts as unset', async () => {
  expect(open({ baseUrl: 'https://pets.example/v1', stateUrl: '' }).quota().stateServer).toBeNull();
});

test.each([
  ['no options', undefined, 'usage', 'baseUrl'],
  ['a base URL that is not a string', { baseUrl: new URL('https://pets.example/v1') }, 'usage', 'baseUrl'],
  ['an API key that contains a space', { apiKey: 'a b' }, 'auth', 'a space'],
  ['an undefined API key', { apiKey: undefined }, 'auth', 'apiKey'],
  ['an unknown option', { timeout: 5 }, 'usage', 'unknown option "timeout"'],
  ['a timeout of 0', { timeoutMs: 0 }, 'usage', 'timeoutMs'],
  ['a fractional number of retries', { maxRetries: 0.5 }, 'usage', 'maxRetries'],
  ['1,000 retries', { maxRetries: 1000 }, 'usage', 'maxRetries'],
  ['a negative maximum wait', { maxWaitMs: -1 }, 'usage', 'maxWaitMs'],
  ['a state directory that contains NUL', { stateDir: 'a\0b' }, 'usage', 'stateDir must be a path'],
  ['an invalid state server URL', { stateUrl: 'x' }, 'usage', 'stateUrl'],
  ['a listener that is not a function', { onWait: {} }, 'usage', 'onWait must be a function'],
])('`createClient` with %s throws a `PetstoreError`', (_what, options, kind, message) => {
  const valid = { baseUrl: 'https://pets.example/v1', apiKey: KEY };
  const create = (): unknown => createClient((options && { ...valid, ...options }) as ClientOptions);
  expect(create).toThrow(PetstoreError);
  expect(create).toThrow(expect.objectContaining({ kind, message: expect.stringContaining(message) }));
});

test.each<[string, unknown[], string]>([
  ['an unknown option', [{ name: 'dog' }, { retries: 1 }], 'unknown option "retries"'],
  ['options that are not an object', [{ name: 'dog' }, 5], 'must be an object'],
  ['an invalid signal', [{ name: 'dog' }, { signal: {} }], 'AbortSignal'],
  ['a timeout of 0', [{ name: 'dog' }, { timeoutMs: 0 }], 'timeoutMs'],
  ['no category', [], 'name'],
  ['a category that is a string', ['dog'], '^the category must be an object$'],
  ['an unknown field', [{ name: 'dog', descripton: 'x' }], 'unknown field "descripton" in the category'],
  ['an empty name', [{ name: ' ' }], 'name'],
  ['an unpaired surrogate in its name', [{ name: 'dog \ud83d' }], 'the name contains an unpaired surrogate'],
  ['a description that is not a string', [{ name: 'dog', description: 5 }], 'description'],
])('a create with %s is rejected as a usage error, and nothing is sent', async (_what, given, message) => {
  await expectUnsent(
    ({ categories: { create } }) => create(...(given as Parameters<typeof create>)),
    expect.stringMatching(message),
  );
});
