// Redaction: known keys, and arguments that look like keys.
import { expect, test } from 'vitest';
import { maskKey, Redactor } from '../../src/text/redact.ts';
import { inProcess } from '../support/world.ts';

test('a whole key is redacted in every encoding, and no part of it elsewhere', () => {
  const redactor = new Redactor();
  // Its base64 form contains + and /.
  const key = 'team2024->>>???live+secret/0123456789"x';
  redactor.add(key);
  const [base64, base64url] = (['base64', 'base64url'] as const).map((form) => Buffer.from(key).toString(form));
  for (const form of [key, encodeURIComponent(key), JSON.stringify(key).slice(1, -1), base64 ?? '', base64url ?? '']) {
    expect(redactor.redact(`before ${form} after`)).toBe('before [redacted] after');
  }
  expect(redactor.redact('cannot connect to team2024-shop.example')).toBe('cannot connect to team2024-shop.example');
});

test('a key is masked except for its last four characters, and a short key completely', () => {
  expect(maskKey('sk_live_0123456789')).toBe('…6789');
  expect(maskKey('short-key-1')).toBe('****');
});

const SECRET = 'qZ7xK2mW9vB4nL8tR3yC6jH1';

test.each([
  [['auth', 'status', '-p', 'sandbox_abcdefghijkl'], 'abcdefgh', 'available profiles: "production"'],
  [['auth', 'login', '-p', '550e8400-e29b-41d4'], '550e8400', 'looks like an API key'],
  [['categories', 'list', '-kabcdefghijklmnop'], 'abcdefgh', 'unknown option'],
  [['auth', 'login', '--url', 'https://sk_live_abcd1234efgh5678'], 'abcd1234', 'https://HOST/v1'],
  [['categories', 'import', 'keys/sk_live_abcd1234'], 'abcd1234', 'keys/[redacted]'],
  [['Bearer abcdef0123456789abcd'], 'abcdef01', 'unknown command'],
  [['key:abcdef0123456789abcd'], 'abcdef01', 'key:[redacted]'],
  [['auth', 'login', SECRET], SECRET, 'looks like an API key\nhint: pipe the key to `petstore auth login`'],
  [['categories', 'list', '--timeout', SECRET], SECRET, 'invalid duration "[redacted]" for --timeout'],
  [['api', 'GET', `//${SECRET}`], SECRET, 'the path is a full URL'],
  [['api', 'GET', '/x', '--data', SECRET], SECRET, 'is not valid JSON'],
  [['auth', 'login', '--url', `https://user:${SECRET}@api.example/v1`], SECRET, 'https://HOST/v1'],
])('the error about %j omits the key but repeats the rest', async (args, key, words) => {
  const { code, out, err } = await inProcess(args, { stdin: '' });
  expect([2, 3]).toContain(code);
  expect((out + err).toLowerCase()).not.toContain(key.toLowerCase());
  expect(err).toContain(words);
});

test.each([
  [['auth', 'switch', 'petstore-prod'], '"petstore-prod"'],
  [['auth', 'switch', 'europe-west1-staging'], '"europe-west1-staging"'],
  [['auth', 'login', '-p', 'Test-Europe-2026-11-24'], '"Test-Europe-2026-11-24"'],
  [['categories', 'import', 'test-data'], '"test-data"'],
  [['categories', 'import', 'exports/species-of-2024-01-31.csv'], 'exports/species-of-2024-01-31.csv'],
  [['categories', 'import', 'sk_animals.csv'], 'sk_animals.csv'],
  [['categories', 'list', '--serch=cats'], 'did you mean --search?'],
])('the error quotes %j in full because it contains no key', async (args, words) => {
  const { code, err } = await inProcess(args, { stdin: '' });
  expect(code).toBe(2);
  expect(err).toContain(words);
});
