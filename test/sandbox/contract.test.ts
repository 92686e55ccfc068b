// The sandbox conforms to its OpenAPI document.
import type { Document } from 'openapi-backend';
import { OpenAPIBackend, SetMatchType } from 'openapi-backend';
import { expect, test } from 'vitest';
import openapi from '../../src/sandbox/openapi.json' with { type: 'json' };
import { FakeClock } from '../support/fake-clock.ts';
import { startTestSandbox } from './support.ts';

const description = structuredClone(openapi) as unknown as Document;

type Operations = Record<string, { operationId?: string; responses: object }>;
const operations = Object.entries((description.paths ?? {}) as Record<string, Operations>).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ title: `${method.toUpperCase()} ${path}`, operation })),
);
/** For example `GET /v1/categories 200`. */
const DOCUMENTED = operations.flatMap(({ title, operation }) =>
  Object.keys(operation.responses).map((status) => `${title} ${status}`),
);

// Mock servers respond with the examples, and testing tools send them.
test('the OpenAPI document has an example of each property and parameter, and an Error object in each shared response', () => {
  const { schemas, responses } = openapi.components;
  const properties = [schemas.Category, schemas.NewCategory].flatMap((schema) => Object.values(schema.properties));
  for (const one of [...properties, ...openapi.paths['/v1/pets/{petId}'].get.parameters]) {
    expect(one).toHaveProperty('example');
  }
  for (const response of Object.values(responses)) {
    expect(response.content['application/json'].schema).toEqual({ $ref: '#/components/schemas/Error' });
  }
});

test('the OpenAPI document is valid and needs no key, and the sandbox sends each documented response as described', async () => {
  // The validator finds operations by id, which some lack.
  for (const { title, operation } of operations) operation.operationId ??= title;
  const backend = await new OpenAPIBackend({ definition: description, strict: true }).init();
  const sandbox = await startTestSandbox({ clock: new FakeClock() });
  const failing = await startTestSandbox({ faults: ['503'] });
  const limited = await startTestSandbox({ limits: ['1/1d'], clock: new FakeClock() });
  await limited.list();
  expect((await sandbox.call('GET', '/v1/openapi.json', { key: null })).json).toEqual(openapi);
  const ok = { statusCode: 200, setMatchType: SetMatchType.Superset };
  expect(backend.validateResponse([{ id: 'one', name: 'dog' }], 'listCategories', 200).errors).not.toBeNull();
  expect(backend.validateResponseHeaders({ 'x-ratelimit-limit': 60 }, 'listCategories', ok).errors).not.toBeNull();
  for (const documented of DOCUMENTED) {
    const [method = '', template = '', wanted = ''] = documented.split(' ');
    const path = template.replace('{petId}', '1');
    const { call } = { default: failing, 429: limited }[wanted] ?? sandbox;
    const { status, headers, json } = await call(method, path, {
      headers: { 'content-type': 'application/json' },
      ...(method === 'POST' && { body: wanted === '400' ? '{}' : '{"name":"dog"}' }),
      ...(wanted === '401' && { key: null }),
    });
    const title = `${method} ${template} ${status}`;
    expect(DOCUMENTED.includes(title) ? title : `${method} ${template} default`).toBe(documented);
    const operation = backend.matchOperation({ method, path, headers: {} })?.operationId ?? '';
    // Headers are strings; the document describes some as integers.
    const typed = Object.entries(headers).map(([name, value]) => [
      name,
      /^\d+$/.test(`${value}`) ? Number(value) : value,
    ]);
    expect(backend.validateResponse(json, operation, status).errors).toBeNull();
    const which = { statusCode: status, setMatchType: SetMatchType.Superset };
    expect(backend.validateResponseHeaders(Object.fromEntries(typed), operation, which).errors).toBeNull();
  }
});
