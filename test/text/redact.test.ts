// Redaction: known keys, and arguments that look like keys.
import { expect, test } from 'vitest';
import { looksLikeKey, maskKey, Redactor, redactTypedKeys } from '../../src/text/redact.ts';
import { inProcess } from '../support/world.ts';

test('a key is redacted in plain, URL, JSON, CSV and base64 form, but a word that shares only its start is not', () => {
  const redactor = new Redactor();
  // Its base64 form contains + and /.
  const key = 'team2024->>>???live+secret/0123456789"x';
  redactor.add(key);
  const [base64, base64url] = (['base64', 'base64url'] as const).map((form) => Buffer.from(key).toString(form));
  const quotes = [JSON.stringify(key).slice(1, -1), key.replace('"', '""')];
  for (const form of [key, encodeURIComponent(key), ...quotes, base64 ?? '', base64url ?? '']) {
    expect(redactor.redact(`before ${form} after`)).toBe('before [redacted] after');
  }
  expect(redactor.redact('cannot connect to team2024-shop.example')).toBe('cannot connect to team2024-shop.example');
});

test('a key is masked except for its last four characters, and a short key completely', () => {
  expect(maskKey('sk_live_0123456789')).toBe('…6789');
  expect([maskKey('short-key-1'), maskKey('longer-key-1')]).toEqual(['****', '…ey-1']);
});

test('a secret of eight characters is redacted, and a shorter one is not', () => {
  const redactor = new Redactor();
  for (const secret of ['eight-ch', 'seven-c']) redactor.add(secret);
  expect(redactor.redact('eight-ch seven-c')).toBe('[redacted] seven-c');
});

test.each(['sk_', 'pk_', 'rk_', 'sandbox_'])('a word of 20 characters that begins with %s counts as a key', (start) => {
  const word = start.padEnd(20, 'x');
  expect([looksLikeKey(word), looksLikeKey(word.slice(1)), looksLikeKey(word.slice(0, 19))]).toEqual([
    true,
    false,
    false,
  ]);
  expect(redactTypedKeys(`unknown ${word}`)).toBe('unknown [redacted]');
});

const SECRET = 'sk_live_qZ7xK2mW9vB4nL8tR3yC6jH1';

test.each([
  [['auth', 'status', '-p', SECRET.toLowerCase().slice(0, 30)], 'looks like an API key'],
  [['auth', 'login', SECRET], 'looks like an API key\nhint: pipe the key to `petstore auth login`'],
  [['auth', 'login', '-p', 'staging', SECRET], 'looks like an API key\nhint: pipe the key to `petstore auth login`'],
  [['categories', 'list', `-k${SECRET}`], 'unknown option'],
  [['auth', 'login', '--url', `https://${SECRET}`], 'https://HOST/v1'],
  [['auth', 'login', '--url', `https://user:${SECRET}@api.example/v1`], 'https://HOST/v1'],
  [['categories', 'import', `keys/${SECRET}`], 'keys/[redacted]'],
  [[`Bearer ${SECRET}`], 'unknown command'],
  [[`key:${SECRET}`], 'key:[redacted]'],
  [['categories', 'list', '--timeout', SECRET], 'invalid duration "[redacted]" for --timeout'],
  [['api', 'GET', `//${SECRET}`], 'the path must be relative to the base URL'],
  [['api', 'GET', '/x', '--data', SECRET], 'is not valid JSON'],
])('the error about the arguments %j names the mistake but not the key', async (args, words) => {
  const { code, out, err } = await inProcess(args, { stdin: '' });
  expect([2, 3]).toContain(code);
  expect((out + err).toLowerCase()).not.toContain('qz7x');
  expect(err).toContain(words);
});

test.each([
  [['auth', 'switch', 'petstore-prod'], '"petstore-prod"'],
  [['auth', 'switch', 'europe-west1-staging'], '"europe-west1-staging"'],
  [['auth', 'login', '-p', 'Test-Europe-2026'], '"Test-Europe-2026"'],
  [['categories', 'import', 'test-data'], '"test-data"'],
  [['categories', 'import', 'exports/species-of-2024-01-31.csv'], 'exports/species-of-2024-01-31.csv'],
  [['categories', 'import', 'sk_animals_of_europe.csv'], 'sk_animals_of_europe.csv'],
  [['categories', 'list', '--serch=cats'], 'did you mean --search?'],
])('the error about the arguments %j is not redacted, because they contain no key', async (args, words) => {
  const { code, err } = await inProcess(args, { stdin: '' });
  expect(code).toBe(2);
  expect(err).toContain(words);
});

test.each(['sandbox_dev', 'sk_team', 'rk_prod_eu', 'team-blue2green-x1', 'eu-central-1a-2026w47'])(
  'the profile name "%s" does not count as a key',
  async (name) => {
    const { err } = await inProcess(['auth', 'login', name], { stdin: 'sk_secret_0123456789abcdef\n' });
    expect(err).toContain(`error: profile "${name}" does not exist\n`);
  },
);
