// Fuzzers, in process: mutated responses and paths. A failure prints its seed.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createApi } from '../../src/api/categories.ts';
import { pathBelowBase } from '../../src/api/raw-request.ts';
import type { PetstoreError } from '../../src/errors.ts';
import type { HttpClient } from '../../src/http/http-client.ts';
import type { HttpResponse } from '../../src/http/types.ts';
import { stringifyJson } from '../../src/text/json.ts';
import { mutated } from '../support/mutations.ts';

const LIST = JSON.stringify([
  { id: 1, name: 'cat', description: 'Felis catus' },
  { id: 2, name: 'd\u00f6g', extra: { nested: [1, 2, { deep: null }] } },
]).replace('"id":2', '"id":9223372036854775807');
const ONE = '{"id":7,"name":"dog","description":"Canis familiaris"}';
const ERROR = '{"code":"invalid","message":"The name is too long.","status":400}';

function responding(status: number, body: Uint8Array): Pick<HttpClient, 'send'> {
  const response: HttpResponse = { status, headers: {}, body, receivedAt: 0, sentAt: 0 };
  return { send: async () => response };
}

function isCategory(value: unknown): boolean {
  const { id, name } = value as { id: unknown; name: unknown };
  return (Number.isSafeInteger(id) || typeof id === 'bigint') && typeof name === 'string';
}

// Valid JSON in which some fields are missing or have another type.
const mostly = (arbitrary: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 4, arbitrary }, fc.jsonValue(), fc.constant(undefined));
const category = fc.record({ id: mostly(fc.nat()), name: mostly(fc.string()), description: mostly(fc.string()) });
const json = (value: fc.Arbitrary<unknown>): fc.Arbitrary<Buffer> =>
  value.map((one) => Buffer.from(JSON.stringify(one)));

test('a mutated body is decoded to categories or fails with the error kind for its request and status', async () => {
  const cases = fc.oneof(
    fc.tuple(mutated([LIST, `[${ONE}]`, '[]']), fc.constant(200), fc.constant('service')),
    fc.tuple(json(fc.array(category, { maxLength: 3 })), fc.constant(200), fc.constant('service')),
    fc.tuple(fc.oneof(mutated([ONE]), json(category)), fc.constant(201), fc.constant('unknown_outcome')),
    fc.tuple(mutated([ERROR]), fc.constantFrom(400, 404), fc.constant('rejected')),
    fc.tuple(mutated([ERROR]), fc.constant(401), fc.constant('auth')),
  );
  let decoded = 0;
  await fc.assert(
    fc.asyncProperty(cases, async ([body, status, kind]) => {
      const { list, create } = createApi(responding(status, body)).categories;
      const result = await (status === 201 ? create({ name: 'x' }) : list().then(({ listed }) => listed)).catch(
        (error: PetstoreError) => {
          expect(error).toMatchObject({ name: 'PetstoreError', kind });
        },
      );
      const categories = [result ?? []].flat();
      if (!categories.every(isCategory)) throw new Error('not categories');
      if (categories.length > 0) decoded++;
      stringifyJson(result);
    }),
    { numRuns: 1500 },
  );
  expect(decoded).toBeGreaterThan(100);
});

const part = fc.constantFrom(
  ...'/ // \\ /\\ .. . %2e%2e %2f %5c @ : ? # ; http: https:// evil.example //evil.example @evil.example'.split(' '),
  ...'categories v1 %00 % [::1] :8080 user:pw@ x'.split(' '),
  ...['\t', '\n', '\r', '\0', ' ', '\u2028', '\uff0f', '\u3002'],
);
const bases = ['https://api.example:8443/a/b/v1', 'http://127.0.0.1:4010/v1', 'http://[::1]:1/v1'];

test('a malformed path is rejected or stays below the base URL', () => {
  let accepted = 0;
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), fc.constantFrom(...bases), (parts, base) => {
      let below: string;
      try {
        below = pathBelowBase(parts.join(''));
      } catch (error) {
        return void expect(error).toMatchObject({ name: 'PetstoreError', kind: 'usage' });
      }
      accepted++;
      const { origin, pathname } = new URL(base);
      // Joined as in the transport, and parsed as by a server.
      const sent = `${pathname}${below}`;
      const url = new URL(sent, origin);
      if (url.origin !== origin || !url.pathname.startsWith(`${pathname}/`)) throw new Error(`left: ${sent}`);
      if (!/^\/[\x21-\x7e]*$/.test(sent) || sent.startsWith('//')) throw new Error(`odd request line: ${sent}`);
    }),
    { numRuns: 5000 },
  );
  expect(accepted).toBeGreaterThan(200);
});
