// Wrong usage: each error names the mistake, and its hint the command or option that was meant.
import { expect, test } from 'vitest';
import { inProcess } from './support/world.ts';

const see = (path = '') => `see \`petstore ${path}--help\``;
const meant = (words: string) => `did you mean \`${words}\`?`;

const NO_KEY_OPTION = 'there is no option for the API key';

const ROWS: readonly (readonly [line: string, message: string, hint: string])[] = [
  ['foo', 'unknown command "foo"', see()],
  ['categoris list', 'unknown command "categoris"', meant('petstore categories list')],
  ['categoris', 'unknown command "categoris"', see('categories ')],
  ['categories lst', 'unknown command "lst"', meant('petstore categories list')],
  ['cat list', 'unknown command "cat"', meant('petstore categories list')],
  ['categories login', 'unknown command "login"', meant('petstore auth login')],
  ['list', 'unknown command "list"', meant('petstore categories list')],
  ['list-categories', 'unknown command "list-categories"', meant('petstore categories list')],
  ['categories:list', 'unknown command "categories:list"', meant('petstore categories list')],
  ['create dog', 'unknown command "create"', meant('petstore categories create')],
  ['category create dog', 'unknown command "category"', meant('petstore categories create')],
  ['categories add dog', 'unknown command "add"', meant('petstore categories create')],
  ['whoami -p staging', 'unknown command "whoami"', meant('petstore auth status')],
  ['version', 'unknown command "version"', meant('petstore --version')],
  ['help lst', 'unknown command "lst"', meant('petstore categories list')],
  ['categories help lst', 'unknown command "help"', see('categories ')],
  ['categories foo --help', 'unknown command "foo"', see('categories ')],
  [
    'categories delete dog',
    'unknown command "delete": the service can only list and create categories',
    see('categories '),
  ],
  ['categories', 'missing subcommand after `petstore categories`', 'use list, get, create or import'],
  ['categories list --serach x', 'unknown option "--serach"', 'did you mean --search?'],
  ['categories create --nam dog', 'unknown option "--nam"', 'did you mean --name?'],
  ['categories create --descr x', 'unknown option "--descr"', 'did you mean --description?'],
  ['categories create -p staging --quit', 'unknown option "--quit"', 'did you mean --quiet?'],
  ['categories create --bogus', 'unknown option "--bogus"', see('categories create ')],
  ['-profile staging categories list', 'unknown option "-profile"', 'did you mean --profile?'],
  ['categories create -name dog', 'unknown option "-name"', 'did you mean --name?'],
  ['quota --json=true', '--json takes no value', 'use --json alone'],
  ['categories list --search', '--search needs a value', see('categories list ')],
  ['categories list --max-wait', '--max-wait needs a value', 'use a duration such as 30s or 2m'],
  ['categories list --format', '--format needs a value', 'use table, json, ndjson, csv or tsv'],
  ['categories list --profile', '--profile needs a value', see()],
  ['categories create', '--name is required', 'pass a name, for example --name dog'],
  ['categories create --name ', '--name is empty', 'pass a name, for example --name dog'],
  ['categories create dog --description x', '--name is required', 'use --name'],
  ['categories create staging -p staging', '--name is required', 'use --name'],
  [
    'categories create --name dog Canis familiaris',
    'unexpected argument "Canis"',
    'quote a value that contains spaces',
  ],
  ['categories import a.csv de.csv', 'unexpected argument "de.csv"', 'import one file at a time'],
  ['categories get guinea pig', 'unexpected argument "pig"', 'quote a value that contains spaces'],
  ['categories get', 'NAME is required', 'pass a name, or an id with --id'],
  ['categories get dog --id 1', 'NAME and --id cannot be combined', 'use one of them'],
  ['categories get --id x', 'invalid value "x" for --id', 'use a whole number'],
  ['doctor foo', 'unexpected argument "foo"', see('doctor ')],
  ['categories ls --format xml', 'invalid value "xml" for --format', 'use table, json, ndjson, csv or tsv'],
  ['completion x', 'invalid value "x" for SHELL', 'use bash, zsh, fish or powershell'],
  ['completion', 'SHELL is required', 'use bash, zsh, fish or powershell'],
  ['api categories', 'PATH is required', 'pass a method and a path, for example GET categories'],
  ['api categories --data', '--data needs a value', see('api ')],
  ['categories import', 'FILE is required', 'pass a file, or - to read stdin'],
  ['categories import a --concurrency 0', 'invalid number "0" for --concurrency', 'use a whole number from 1 to 64'],
  ['api POST x --data 1 --input -', '--data and --input cannot be combined', 'use one of them'],
  ['quota --max-wait foo', 'invalid duration "foo" for --max-wait', 'use a duration such as 500ms, 30s, 2m or 1h'],
  ['categories list --timeout 0', '--timeout must be greater than 0', 'use a value such as 30s'],
  ['categories list --max-retries x', 'invalid number "x" for --max-retries', 'use a whole number from 0 to 999'],
  ['auth login --key pk_live_0123456789abcdef', NO_KEY_OPTION, 'pipe the key to stdin'],
  ['auth login --api-key=abc-defg-hij', NO_KEY_OPTION, 'pipe the key to stdin'],
  ['auth login staging sk_live_0123456789abcdef', 'unexpected argument "[redacted]"', 'pipe the key to stdin'],
  ['doctor sk_live_0123456789abcdef', 'unexpected argument "[redacted]"', 'pipe the key to `petstore auth login`'],
  ['categories list --token ab=cd-efg', NO_KEY_OPTION, 'pipe the key to `petstore auth login`'],
];

test.each(ROWS)('`petstore %s` is a usage error: %s', async (line, message, hint) => {
  const text = `error: ${message}\nhint: ${hint}\n`;
  expect(await inProcess(line.split(' '))).toEqual({ code: 2, out: '', err: text });
  const asJson = /--json|--format/.test(line) ? undefined : await inProcess(['--json', ...line.split(' ')]);
  if (asJson) expect(JSON.parse(asJson.err)).toEqual({ error: { kind: 'usage', message, hint } });
});

const suggestions = ROWS.flatMap(([line, , hint]) => {
  const name = /^did you mean `?(.*?)`?\?$/.exec(hint)?.[1];
  return name ? [[line, name] as const] : [];
});

test.each(suggestions)('`petstore %s` is a usage error whose suggestion %s exists', async (line, name) => {
  const words = name.startsWith('petstore ')
    ? name.split(' ').slice(1)
    : line.split(' ').filter((one) => /^[a-z]/.test(one));
  expect(words).not.toEqual(line.split(' '));
  const { code, out } = await inProcess([...words.filter((one) => !/^(?:staging|dog|x)$/.test(one)), '--help']);
  expect(code).toBe(0);
  if (name.startsWith('--')) expect(out).toContain(name);
});

test.each([
  ['quota --max-wait foo --json', 'invalid duration "foo" for --max-wait'],
  ['quota --format xml --json', 'invalid value "xml" for --format'],
  ['--format=json quota --max-retries', '--max-retries needs a value'],
  ['-qv --format json foo', 'unknown command "foo"'],
  ['categories create --name --json', '--name needs a value'],
])('the usage error of `petstore %s` is JSON', async (line, message) => {
  const { err } = await inProcess(line.split(' '));
  expect(JSON.parse(err)).toMatchObject({ error: { kind: 'usage', message } });
});

test.each(['categories list -- --json', 'categories create --name=--json extra'])(
  'the usage error of `petstore %s`, in which --json is a value, is text',
  async (line) => {
    expect((await inProcess(line.split(' '))).err).toMatch(/^error: /);
  },
);

test.each(['categories import -yh', '-qh', 'api --input -h'])('`petstore %s` asks for help', async (line) => {
  const { code, out } = await inProcess(line.split(' '));
  expect([code, out]).toEqual([0, expect.stringMatching(/^Usage: petstore /)]);
});

test('an argument with invalid UTF-8 is a usage error', async () => {
  const { code, out, err } = await inProcess(['categories', 'create', '--name', 'caf\ufffd', '-p', 'sandbox']);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain('is not valid UTF-8');
});
