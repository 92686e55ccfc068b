// The table of faults is whole, and what it names exists; and some faults that cannot happen, since their code is not there.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CATALOGUE } from './catalogue.ts';
import { FAULTS } from './transport-faults.ts';

const ROWS: Readonly<Record<string, number>> = { A: 25, B: 25, C: 10, D: 14, E: 16, F: 13, G: 9, H: 11 };
const IDS = Object.entries(ROWS).flatMap(([letter, count]) =>
  Array.from({ length: count }, (_, at) => `${letter}${at + 1}`),
);

test('every one of the 123 faults has its row, with a test or a reason', () => {
  expect(Object.keys(CATALOGUE)).toEqual(IDS);
  expect(IDS).toHaveLength(123);
  const empty = IDS.filter((id) => (CATALOGUE[id]?.tests.length === 0) !== (CATALOGUE[id]?.reason !== undefined));
  expect(empty).toEqual([]);
});

test('at least 115 of them are held by a test', () => {
  expect(IDS.filter((id) => (CATALOGUE[id]?.tests.length ?? 0) > 0).length).toBeGreaterThanOrEqual(115);
});

test('every test that the table names exists', () => {
  const missing = Object.entries(CATALOGUE).flatMap(([id, { tests }]) =>
    tests.filter((name) => !exists(name)).map((name) => `${id} ${name}`),
  );
  expect(missing).toEqual([]);
});

test('the faults on the wire name rows that there are', () => {
  const named = new Set(Object.values(FAULTS).flatMap(({ rows }) => rows));
  expect([...named].filter((id) => !(id in CATALOGUE))).toEqual([]);
  // And the rows that point to them are met by at least one.
  const pointing = Object.entries(CATALOGUE).filter(([, { tests }]) =>
    tests.some((name) => name.endsWith('create sends one POST')),
  );
  expect(pointing.map(([id]) => id).filter((id) => !named.has(id))).toEqual([]);
});

const texts = new Map<string, string>();

function exists(name: string): boolean {
  const colon = name.indexOf(': ');
  const [file, title] = [name.slice(0, colon), name.slice(colon + 2)];
  const text = texts.get(file) ?? readFileSync(join(import.meta.dirname, '..', file), 'utf8').replaceAll("\\'", "'");
  texts.set(file, text);
  return [`'${title}'`, `"${title}"`, `\`${title}\``].some((quoted) => text.includes(quoted));
}

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file, text: readFileSync(join('src', file), 'utf8').replace(/^\s*(?:\/\/|\/?\*).*$/gm, '') }));
const using = (pattern: RegExp): string[] => sources.filter(({ text }) => pattern.test(text)).map(({ file }) => file);

test('the program starts no other program, so none can inherit a key', () => {
  expect(using(/child_process|worker_threads|process\.dlopen/)).toEqual([]);
});

test('HTTP/2 is off, and no retry, redirect or decompression of the HTTP client is used', () => {
  expect(using(/RetryAgent|RetryHandler|interceptors|maxRedirections|allowH2: true|EnvHttpProxyAgent/)).toEqual([]);
  expect(using(/allowH2: false/)).toContain('http/transport.ts');
});

test('nothing makes the service be trusted without a certificate', () => {
  expect(using(/rejectUnauthorized: false|NODE_TLS_REJECT/)).toEqual([]);
});
