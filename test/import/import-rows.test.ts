// `client.categories.import`: rows, progress, errors with a document, aborts and concurrent imports.
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Client, ClientOptions, ImportOptions, ImportProgress, ImportRows, Wait } from '../../src/client.ts';
import type { SandboxOptions } from '../../src/sandbox/start.ts';
import { startSandbox } from '../../src/sandbox/start.ts';
import { errorOf, openClient } from '../support/client.ts';
import { errorResponse } from '../support/http-fake.ts';
import { until } from '../support/processes.ts';
import { tempDir } from '../support/temp-dir.ts';
import { serving } from '../support/world.ts';

async function sandboxClient(options: SandboxOptions = {}, more: Partial<ClientOptions> = {}) {
  const { client: own, close } = await startSandbox({ plan: 'enterprise', ...options });
  onTestFinished(close);
  return { own, client: openClient({ ...own, ...more }) };
}

const rows = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `species ${at}` }));
const namesOf = async ({ categories }: Client) => (await categories.list()).map(({ name }) => name).sort();

test('an import creates one category for each name that the service does not list, and reports its progress', async () => {
  const { client } = await sandboxClient();
  await client.categories.create({ name: 'cat', description: 'Felis' });
  async function* given() {
    yield { name: 'dog', description: 'Canis' };
    yield { name: 'cat', description: 'Panthera' };
    yield { name: 'dog', description: 'Canis' };
  }
  const seen: ImportProgress[] = [];
  const document = await client.categories.import(given(), {
    concurrency: 64,
    onProgress: (counts) => void seen.push(counts),
  });
  expect(document).toEqual({
    created: [{ id: 2, name: 'dog', description: 'Canis' }],
    skipped: [
      { row: 2, name: 'cat', id: 1, differs: true },
      { row: 3, name: 'dog', id: 2, repeats: 1 },
    ],
    failed: [],
    unknown: [],
    pending: 0,
  });
  const first = { created: 0, skipped: 1, failed: 0, unknown: 0, pending: 1 };
  expect([seen[0], seen.at(-1)]).toEqual([first, { ...first, created: 1, pending: 0 }]);
});

test('`onWarning` receives the warnings about the rows of an import', async () => {
  const onWarning = vi.fn();
  const { client } = await sandboxClient({}, { onWarning });
  await client.categories.create({ name: 'cat' });
  await client.categories.import([
    { name: 'cat', description: 'Felis' },
    { name: 'dog' },
    { name: 'Dog' },
    { name: 'dog' },
  ]);
  expect(onWarning.mock.calls.flat()).toEqual([
    '1 row repeats a name and is skipped: row 4 "dog"',
    'names that differ only in case, spaces or Unicode form become separate categories: "dog" and "Dog"',
    '1 existing category has a different description and cannot be updated: "cat"',
  ]);
});

test.each<[string, unknown, string, object]>([
  ['a row without a name', [{ name: 'dog' }, {}], 'the input, row 2: name is missing', { problems: [{ row: 2 }] }],
  ['a string', 'name,dog', 'rows must be an array or another iterable object', { problems: undefined }],
  ['an iterable that throws', brokenRows(), 'the rows cannot be read', { cause: new Error('broken') }],
])('an import of %s causes a usage error, and nothing is sent', async (_what, given, message, rest) => {
  const fake = await serving(() => ({ body: [] }));
  const { categories } = openClient({ baseUrl: fake.url, apiKey: 'k_0123456789', stateDir: null });
  const error = await errorOf(categories.import(given as ImportRows));
  expect(error).toMatchObject({ kind: 'usage', message, document: undefined, ...rest });
  expect(fake.requests).toEqual([]);
});

function* brokenRows(): Generator<{ name: string }> {
  yield { name: 'dog' };
  throw new Error('broken');
}

test.each([
  [{ concurrency: 0 }, 'invalid number "0" for concurrency'],
  [{ concurrency: 65 }, 'invalid number "65" for concurrency'],
  [{ onProgress: {} }, 'onProgress must be a function'],
  [{ dryRun: true }, 'unknown option "dryRun" for the call'],
])('an import with the options %j causes a usage error', async (options, message) => {
  const { categories } = openClient({ baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'k_0123456789', stateDir: null });
  expect(await errorOf(categories.import([], options as unknown as ImportOptions))).toMatchObject({
    kind: 'usage',
    message,
  });
});

test('if a row is rejected, an import creates the other categories, and the document in its error omits the API key', async () => {
  const created: object[] = [];
  const key = 'sandbox_rejected_row';
  const fake = await serving(({ method, body }) => {
    if (method === 'GET') return { body: created };
    const { name } = JSON.parse(body) as { name: string };
    if (name === 'eel') return errorResponse(400, 'bad', `The key ${key} may not create it.`);
    created.push({ id: created.length + 1, name });
    return { status: 201, body: created.at(-1) };
  });
  const { categories } = openClient({ baseUrl: fake.url, apiKey: key, stateDir: null });
  const error = await errorOf(categories.import([{ name: 'dog' }, { name: 'eel' }, { name: 'cat' }]));
  const message = 'The key [redacted] may not create it.';
  expect(error).toMatchObject({ kind: 'rejected', status: 400, hint: expect.not.stringMatching(/petstore|`|--\w/) });
  expect(error.document).toMatchObject({
    created: [{ name: 'dog' }, { name: 'cat' }],
    failed: [{ row: 2, name: 'eel', code: 'bad', status: 400, message }],
    pending: 0,
  });
});

test('if two clients without a state directory import the same rows at the same time, one waits and each category is created once', async () => {
  const warnings: string[] = [];
  const { own, client } = await sandboxClient({ faults: ['latency=20ms'] });
  const other = openClient({ ...own, onWarning: (text) => void warnings.push(text) });
  const documents = await Promise.all([client, other].map(({ categories }) => categories.import(rows(20))));
  expect(documents.map(({ created, skipped, pending }) => [created.length + skipped.length, pending])).toEqual([
    [20, 0],
    [20, 0],
  ]);
  expect(await namesOf(client)).toEqual(
    rows(20)
      .map(({ name }) => name)
      .sort(),
  );
  expect(warnings).toEqual([expect.stringMatching(/^waiting for another import to finish \(PID \d+ on \S+\)$/)]);
});

test('an aborted import fails with a document, and the next import waits for the create that was in flight', async () => {
  const listed: object[] = [];
  const abort = new AbortController();
  const reason = new Error('no longer needed');
  const { url } = await serving(({ method, body }) => {
    if (method === 'GET') return { body: listed };
    if (listed.length === 5) {
      abort.abort(reason);
      return 'silence';
    }
    listed.push({ id: listed.length + 1, ...(JSON.parse(body) as object) });
    return { status: 201, body: listed.at(-1) };
  });
  const own = { baseUrl: url, apiKey: 'k_0123456789', stateDir: null };
  const client = openClient(own);
  const error = await errorOf(client.categories.import(rows(40), { signal: abort.signal, concurrency: 1 }));
  expect(error).toMatchObject({ kind: 'interrupted', message: 'interrupted', outcome: 'unknown', cause: reason });
  expect(error.document).toMatchObject({ created: listed, unknown: [{ name: 'species 5' }], pending: 34 });
  await client.close();
  const next = new AbortController();
  const waits: Wait[] = [];
  const onWait = (wait: Wait): void => {
    waits.push(wait);
    next.abort();
  };
  const waiting = openClient({ ...own, onWait }).categories.import(rows(40), { signal: next.signal });
  expect(await errorOf(waiting)).toMatchObject({ kind: 'interrupted', document: undefined });
  expect(waits).toEqual([{ until: expect.any(Number), reason: 'requests' }]);
});

test('an abort ends an import that waits for its rows', async () => {
  const { client } = await sandboxClient();
  async function* endless() {
    await new Promise(() => undefined);
    yield { name: 'dog' };
  }
  const abort = new AbortController();
  const waiting = errorOf(client.categories.import(endless(), { signal: abort.signal }));
  abort.abort();
  expect(await waiting).toMatchObject({ kind: 'interrupted', outcome: undefined, document: undefined });
});

test('closing a client waits for an import in progress', async () => {
  const { client } = await sandboxClient();
  const progress: ImportProgress[] = [];
  const importing = client.categories.import(rows(20), { onProgress: (counts) => void progress.push(counts) });
  await until(() => progress.length > 0);
  await client.close();
  expect(await Promise.race([importing, 'in progress'])).toMatchObject({ pending: 0 });
});

test('an import omits its last list if the list would wait for the rate limit', async () => {
  const abort = new AbortController();
  const { client } = await sandboxClient({ plan: undefined, limits: ['2/1m'] }, { onWait: () => abort.abort() });
  const { created } = await client.categories.import(rows(1), { signal: abort.signal });
  expect(created).toHaveLength(1);
});

test('concurrent creates of an import that wait for the rate limit cause no warning from Node.js', async () => {
  const warned = vi.fn();
  process.on('warning', warned);
  onTestFinished(() => void process.off('warning', warned));
  const abort = new AbortController();
  const { client } = await sandboxClient({ plan: undefined, limits: ['2/1m'] }, { onWait: () => abort.abort() });
  await errorOf(client.categories.import(rows(20), { signal: abort.signal, concurrency: 20 }));
  expect(warned).not.toHaveBeenCalled();
});

test('an import fails and sends nothing if the state server is unavailable, even with a state directory', async () => {
  const fake = await serving(() => ({ body: [] }));
  const stateUrl = 'redis://127.0.0.1:1';
  const { categories } = openClient({ baseUrl: fake.url, apiKey: 'k_0123456789', stateDir: tempDir(), stateUrl });
  const error = await errorOf(categories.import(rows(1)));
  expect(error).toMatchObject({ kind: 'storage', message: expect.stringContaining('127.0.0.1:1') });
  expect(fake.requests).toEqual([]);
});
