// The sandbox conforms to its OpenAPI document, and the client works with a mock server made from that document.
import type { Document } from 'openapi-backend';
import { OpenAPIBackend } from 'openapi-backend';
import { expect, onTestFinished, test } from 'vitest';
import { openApiDocument } from '../../src/sandbox/openapi.ts';
import type { HttpFake } from '../support/http-fake.ts';
import { startHttpFake } from '../support/http-fake.ts';
import { inProcess } from '../support/world.ts';
import type { Description, Documented, Provocation } from './contract.ts';
import { Checker, documentedResponses, FIXTURES } from './contract.ts';
import type { Answer, Sandbox } from './support.ts';
import { handClock, KEY, startTest } from './support.ts';

const description = openApiDocument() as unknown as Description;

function ask(sandbox: Sandbox, { method, path, key, body }: Provocation): Promise<Answer> {
  const sent =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  return sandbox.call(method, `/v1${path}`, { ...sent, ...(key === null ? { key } : {}) });
}

test('the document is valid OpenAPI 3.1', async () => {
  const strict = (definition: unknown): Promise<unknown> =>
    new OpenAPIBackend({ definition: definition as Document, strict: true }).init();
  await strict(description);
  await expect(strict({ ...description, info: {} })).rejects.toThrow('not valid OpenAPI');
});

test('the document is served without a key', async () => {
  const { call } = await startTest();
  const answer = await call('GET', '/v1/openapi.json', { key: null });
  expect([answer.status, answer.json]).toEqual([200, description]);
});

const nameOf = ({ method, path, status }: Documented): string => `${method} ${path} ${status}`;

test('every documented response of the sandbox conforms to the document', async () => {
  const checker = new Checker(description);
  const sandbox = await startTest({ limits: [{ count: FIXTURES.length, windowMs: 60_000 }], clock: handClock() });
  const checked = new Set<string>();
  for (const { response, request } of FIXTURES) {
    expect(checker.problems(response, await ask(sandbox, request))).toEqual([]);
    checked.add(nameOf(response));
  }
  // Exhaust the limit, so that every operation is refused.
  while ((await sandbox.list()).status !== 429);
  for (const response of documentedResponses(description).filter(({ status }) => status === '429')) {
    const answer = await ask(sandbox, { method: response.method, path: response.path.replace('{petId}', '1') });
    expect(checker.problems(response, answer)).toEqual([]);
    checked.add(nameOf(response));
  }
  expect([...checked].sort()).toEqual(documentedResponses(description).map(nameOf).sort());
});

const { headers: examples } = description.components;
const EXAMPLE_HEADERS = {
  'x-ratelimit-limit': String(examples.Limit.example),
  'x-ratelimit-remaining': String(examples.Remaining.example),
  'x-ratelimit-reset': String(examples.Reset.example),
};

/** A mock server by openapi-backend, from nothing but the document. */
async function mock(): Promise<Pick<HttpFake, 'url' | 'requests'>> {
  const backend = new OpenAPIBackend({
    definition: description as unknown as Document,
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
