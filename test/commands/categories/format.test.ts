// `--format` may stand before and after the command; a format that a command lacks is rejected before anything is sent.
import { expect, test } from 'vitest';
import { inProcess } from '../../support/world.ts';

test.each([
  [['--format', 'csv', '-p', 'sandbox', 'categories', 'list']],
  [['categories', '--format=csv', 'list', '-p', 'sandbox']],
  [['-p', 'sandbox', 'categories', 'list', '--format', 'csv']],
])('%j prints CSV', async (args) => {
  const { code, out } = await inProcess(args);
  expect(code).toBe(0);
  expect(out).toBe('id,name,description\n');
});

test('`--format json` before any command is `--json`, errors included', async () => {
  const dog = await inProcess(['--format', 'json', '-p', 'sandbox', 'categories', 'create', '--name', 'dog']);
  expect(dog).toMatchObject({ code: 0, out: '{"id":1,"name":"dog"}\n', err: '' });
  const wrong = await inProcess(['--format', 'json', 'categories', 'lsit']);
  expect(JSON.parse(wrong.err)).toMatchObject({ error: { kind: 'usage' } });
});

test('a create whose result cannot be printed is not sent', async () => {
  const refused = await inProcess(['-p', 'sandbox', 'categories', 'create', '--name', 'dog', '--format', 'csv']);
  expect(refused).toMatchObject({ code: 2, out: '' });
  expect(refused.err).toContain('--format csv is available only for `petstore categories list`');
});

test('an unknown format lists the formats', async () => {
  const { code, err } = await inProcess(['--format', 'xml', 'categories', 'list']);
  expect(code).toBe(2);
  expect(err).toContain('use table, json, ndjson, csv or tsv');
});

test('`json` as a command is unknown, not an option', async () => {
  expect((await inProcess(['json'])).err).toMatch(/^error: unknown command/);
});
