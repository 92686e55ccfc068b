// docs/cli.md lists every field of the JSON documents that commands print.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startHttpFake } from '../support/http-fake.ts';
import { tempDir } from '../support/temp-dir.ts';
import { inProcess } from '../support/world.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/cli.md'), 'utf8');
const rows = new Map(
  [...text.matchAll(/^\| `([^`]+)` \| (.*) \|$/gm)].map(([, command = '', document = '']) => {
    // A document with many fields has its own section.
    const section = /see \[(\w+)\]/.exec(document)?.[1];
    return [command, section ? (text.split(`\n### ${section}\n`)[1]?.split('\n## ')[0] ?? '') : document];
  }),
);

// The names of all fields, including those of nested objects.
function fieldsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(fieldsOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => [name, ...fieldsOf(part)]);
}

function undocumented(command: string, document: string): string[] {
  const documented = [...(rows.get(command) ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name);
  return [...new Set(fieldsOf(JSON.parse(document)))].filter((name) => !documented.includes(name));
}

const dir = tempDir();

test.each([
  ['categories create', '--name dog --description large -p sandbox'],
  ['categories import --dry-run', 'rows.csv -p sandbox'],
  ['categories import', 'rows.csv -p sandbox'],
  ['quota', '-p sandbox'],
  ['doctor', '-p sandbox'],
  ['auth status', '-p sandbox'],
  ['auth switch', 'sandbox'],
  ['--version', ''],
])('docs/cli.md documents every field that `%s --json` prints', async (command, more) => {
  writeFileSync(join(dir, 'rows.csv'), 'name,description\ndog,other\ncat,small\n');
  const { code, out } = await inProcess(`${command} ${more} --json`.split(/ +/), { dir });
  expect([code, undocumented(command, out)]).toEqual([0, []]);
});

test('docs/cli.md documents every field of a login, a blocked quota and a logout', async () => {
  const service = await startHttpFake(({ method }) => {
    const reset = String(Math.floor(Date.now() / 1000) + 30);
    const headers = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset };
    if (method === 'GET') return { body: [], headers: { ...headers, 'x-ratelimit-remaining': '50' } };
    return { status: 429, headers: { ...headers, 'retry-after': '30' } };
  });
  const run = (line: string, stdin?: string) => inProcess(line.split(' '), { dir, ...(stdin && { stdin }) });
  const login = await run(`auth login -p ci --url ${service.url} --json`, 'sk_secret_0123456789');
  expect(undocumented('auth login', login.out)).toEqual([]);
  expect((await run('categories create --name dog -p ci --max-wait 0')).code).toBe(5);
  const quota = (await run('quota -p ci --json')).out;
  expect(JSON.parse(quota).blocked).toMatchObject({ reason: 'retry_after', consecutive429s: 1 });
  expect(undocumented('quota', quota)).toEqual([]);
  const logout = await run('auth logout -p ci --json');
  expect(undocumented('auth logout', logout.out)).toEqual([]);
  service.close();
});
