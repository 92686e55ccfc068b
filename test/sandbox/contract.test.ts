// The sandbox conforms to its OpenAPI document, and the client works with a mock server made from that document.
import type { Document } from 'openapi-backend';
import { OpenAPIBackend, SetMatchType } from 'openapi-backend';
import { expect, onTestFinished, test } from 'vitest';
import { openApiDocument } from '../../src/sandbox/openapi.ts';
import type { HttpFake } from '../support/http-fake.ts';
import { startHttpFake } from '../support/http-fake.ts';
import { inProcess } from '../support/world.ts';
import type { Answer } from './support.ts';
import { handClock, KEY, startTest } from './support.ts';

const description = structuredClone(openApiDocument()) as unknown as Document;

/** Responses that are documented, as `GET /categories 200`, and a request that provokes each. */
const REQUESTS: readonly [documented: string, body?: unknown][] = [
  ['GET /categories 200'],
  ['GET /categories 401'],
  ['POST /categories 201', { name: 'dog' }],
  ['POST /categories 201', { name: 'cat', description: 'Felis catus' }],
  ['POST /categories 400', {}],
  ['POST /categories 400', { description: 'no name' }],
  ['POST /categories 400', { name: 7 }],
  ['POST /categories 400', { name: 'dog', description: 7 }],
  ['POST /categories 400', []],
  ['POST /categories 400', 'dog'],
  ['POST /categories 401', { name: 'dog' }],
  ['GET /pets/{petId} default'],
  ['GET /store/orders default'],
];
type Operations = Record<string, { operationId?: string; responses: object }>;
const operations = Object.entries((description.paths ?? {}) as Record<string, Operations>).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ title: `${method.toUpperCase()} ${path}`, operation })),
);
const DOCUMENTED = operations.flatMap(({ title, operation }) =>
  Object.keys(operation.responses).map((status) => `${title} ${status}`),
);

test('the document is valid OpenAPI 3.1', async () => {
  const strict = (definition: unknown): Promise<unknown> =>
    new OpenAPIBackend({ definition: definition as Document, strict: true }).init();
  await strict(description);
  await expect(strict({ ...description, info: {} })).rejects.toThrow('not valid OpenAPI');
});

test('the document is served without a key', async () => {
  const { call } = await startTest();
  const answer = await call('GET', '/v1/openapi.json', { key: null });
  expect([answer.status, answer.json]).toEqual([200, openApiDocument()]);
});

test('every documented response of the sandbox conforms to the document', async () => {
  // The validator finds an operation by its id, which not every one has.
  for (const { title, operation } of operations) operation.operationId ??= title;
  const backend = await new OpenAPIBackend({ definition: description, apiRoot: '/v1' }).init();
  const sandbox = await startTest({ limits: [{ count: REQUESTS.length, windowMs: 60_000 }], clock: handClock() });
  const check = async (documented: string, body?: unknown): Promise<void> => {
    const [method = '', template = '', wanted = ''] = documented.split(' ');
    const path = `/v1${template.replace('{petId}', '1')}`;
    const { status, headers, json } = await sandbox.call(method, path, {
      ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      ...(wanted === '401' && { key: null }),
    });
    const title = `${method} ${template} ${status}`;
    expect(DOCUMENTED.includes(title) ? title : `${method} ${template} default`).toBe(documented);
    const operation = backend.matchOperation({ method, path, headers: {} })?.operationId ?? '';
    const which = { statusCode: status, setMatchType: SetMatchType.Superset };
    expect(backend.validateResponse(json, operation, status).errors).toBeNull();
    expect(backend.validateResponseHeaders(mapNumbers(headers), operation, which).errors).toBeNull();
  };
  const ok = { statusCode: 200, setMatchType: SetMatchType.Superset };
  expect(backend.validateResponse([{ id: 'one', name: 'dog' }], 'listCategories', 200).errors).not.toBeNull();
  expect(backend.validateResponseHeaders({ 'x-ratelimit-limit': 60 }, 'listCategories', ok).errors).not.toBeNull();
  for (const [documented, body] of REQUESTS) await check(documented, body);
  // Exhaust the limit, so that every operation is refused.
  while ((await sandbox.list()).status !== 429);
  const limited = DOCUMENTED.filter((documented) => documented.endsWith(' 429'));
  for (const documented of limited) await check(documented);
  expect(new Set([...REQUESTS.map(([documented]) => documented), ...limited])).toEqual(new Set(DOCUMENTED));
});

// A header is text; the document describes some as integers.
function mapNumbers(headers: Answer['headers']): Record<string, unknown> {
  const numbered = Object.entries(headers).map(([name, value]) => [
    name,
    /^\d+$/.test(`${value}`) ? Number(value) : value,
  ]);
  return Object.fromEntries(numbered);
}

const examples = description.components?.headers as Record<string, { example: number }>;
const EXAMPLE_HEADERS = {
  'x-ratelimit-limit': String(examples['Limit']?.example),
  'x-ratelimit-remaining': String(examples['Remaining']?.example),
  'x-ratelimit-reset': String(examples['Reset']?.example),
};

/** A mock server by openapi-backend, from nothing but the document. */
async function mock(): Promise<Pick<HttpFake, 'url' | 'requests'>> {
  const backend = new OpenAPIBackend({
    definition: description,
    apiRoot: '/v1',
    handlers: {
      validationFail: () => ({ status: 400 }),
      unauthorizedHandler: () => ({ status: 401 }),
      notFound: () => ({ status: 404 }),
      notImplemented: (context) => ({
        ...context.api.mockResponseForOperation(context.operation.operationId ?? ''),
      }),
    },
  });
  backend.registerSecurityHandler('apiKey', (context) => context.request.headers['authorization'] === `Bearer ${KEY}`);
  await backend.init();
  const { url, requests, close } = await startHttpFake(async ({ method, path, headers, body }) => {
    const answer = await backend.handleRequest({ method, path, headers: headers as Record<string, string>, body });
    const { status, mock = { code: 'refused', message: 'by the mock', status } } = answer;
    return { status, body: mock, headers: EXAMPLE_HEADERS };
  });
  onTestFinished(close);
  return { url, requests };
}

test('petstore works with a mock server made from the document, with the limits of its examples', async () => {
  const { url, requests } = await mock();
  const env = { PETSTORE_BASE_URL: url, PETSTORE_API_KEY: KEY };
  const listed = await inProcess(['categories', 'list', '--json'], { env });
  expect(listed).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(listed.out)).toEqual([
    { id: expect.any(Number), name: expect.any(String), description: expect.any(String) },
  ]);
  const created = await inProcess(['categories', 'create', '--name', 'dog', '--json'], { env });
  expect(created).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(created.out)).toMatchObject({ id: expect.any(Number) });
  expect(requests).toMatchObject([
    { method: 'GET', path: '/v1/categories', body: '' },
    { method: 'POST', path: '/v1/categories', body: '{"name":"dog"}' },
  ]);
});

test('petstore reports what a mock server rejects: a wrong key, an invalid create, an unknown path', async () => {
  const { url } = await mock();
  const env = { PETSTORE_BASE_URL: url, PETSTORE_API_KEY: KEY };
  const wrongKey = { ...env, PETSTORE_API_KEY: 'another_key_0001' };
  expect((await inProcess(['categories', 'list'], { env: wrongKey })).code).toBe(3);
  expect((await inProcess(['api', 'POST', '/categories', '--data', '{"name":7}'], { env })).code).toBe(4);
  expect((await inProcess(['api', 'GET', '/nothing'], { env })).code).toBe(4);
});
