// docs/cli.md lists every field of the JSON documents that commands print.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { quotaHeaders, startHttpFake } from '../support/http-fake.ts';
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

const dir = tempDir();

/** Runs a command; `undocumented` holds the fields of its document that docs/cli.md does not list. */
async function run(command: string, more: string, stdin = '') {
  const { code, out } = await inProcess(`${command} ${more} --json`.split(/ +/), { dir, stdin });
  const document = JSON.parse(out);
  const documented = [...(rows.get(command) ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name);
  return { code, document, undocumented: fieldsOf(document).filter((name) => !documented.includes(name)) };
}

test('docs/cli.md has a row for the JSON document of each command except `help`', () => {
  const commands = [...text.matchAll(/^- \*\*`petstore ([a-z ]*[a-z])/gm)].map(([, command]) => command);
  expect(commands.filter((command = '') => !rows.has(command))).toEqual(['help']);
});

test.each([
  ['categories create', '--name dog --description large -p sandbox'],
  ['categories get', 'dog -p sandbox'],
  ['categories import --dry-run', 'rows.csv -p sandbox'],
  ['categories import', 'rows.csv -p sandbox'],
  ['quota', '-p sandbox'],
  ['doctor', '-p sandbox'],
  ['auth status', '-p sandbox'],
  ['auth switch', 'sandbox'],
  ['--version', ''],
])('docs/cli.md documents every field that `%s --json` prints', async (command, more) => {
  writeFileSync(join(dir, 'rows.csv'), 'name,description\ndog,other\ncat,small\n');
  expect(await run(command, more)).toMatchObject({ code: 0, undocumented: [] });
});

test('docs/cli.md documents every JSON field of the status of a profile with a key command', async () => {
  const command = '-p command --url https://host.example/v1 --no-verify --key-command pass';
  await run('auth login', command);
  expect(await run('auth status', '')).toMatchObject({ code: 0, undocumented: [] });
});

test('docs/cli.md documents every JSON field of a login, a blocked quota and a logout', async () => {
  const limited = { status: 429, headers: { ...quotaHeaders(0), 'retry-after': '30' } };
  const read = { body: [], headers: quotaHeaders() };
  const service = await startHttpFake(({ method }) => (method === 'GET' ? read : limited));
  onTestFinished(service.close);
  const login = await run('auth login', `-p ci --url ${service.url}`, 'sk_secret_0123456789');
  expect(login).toMatchObject({ code: 0, undocumented: [] });
  await inProcess('categories create --name dog -p ci --max-wait 0'.split(' '), { dir });
  const blocked = { reason: 'retry_after', consecutive429s: 1 };
  expect(await run('quota', '-p ci')).toMatchObject({ code: 0, undocumented: [], document: { blocked } });
  expect(await run('auth logout', '-p ci')).toMatchObject({ code: 0, undocumented: [] });
});
