// Wrong usage: each error names the mistake, and its hint the nearest valid words.
import { expect, test } from 'vitest';
import { inProcess } from './support/world.ts';

const see = (path: string) => `see \`petstore ${path}--help\``;

test.each([
  ['foo', 'unknown command "foo"', see('')],
  ['categoris list', 'unknown command "categoris"', 'did you mean `petstore categories list`?'],
  ['categoris', 'unknown command "categoris"', see('categories ')],
  ['categories lst', 'unknown command "lst"', 'did you mean `petstore categories list`?'],
  ['login', 'unknown command "login"', 'did you mean `petstore auth login`?'],
  ['categories login', 'unknown command "login"', 'did you mean `petstore auth login`?'],
  ['list', 'unknown command "list"', 'did you mean `petstore categories list`?'],
  ['category list', 'unknown command "category"', 'did you mean `petstore categories list`?'],
  ['categories add --name dog', 'unknown command "add"', 'did you mean `petstore categories create --name dog`?'],
  ['category new', 'unknown command "category"', 'did you mean `petstore categories create --name NAME`?'],
  ['import', 'unknown command "import"', 'did you mean `petstore categories import FILE`?'],
  ['auth list', 'unknown command "list"', 'did you mean `petstore auth status`?'],
  ['whoami -p staging', 'unknown command "whoami"', 'did you mean `petstore auth status -p staging`?'],
  ['version', 'unknown command "version"', 'did you mean `petstore --version`?'],
  ['help lst', 'unknown command "lst"', 'did you mean `petstore categories list --help`?'],
  ['categories', 'missing subcommand after `petstore categories`', 'use list, create or import'],
  ['categories list --serach x', 'unknown option "--serach"', 'did you mean `--search`?'],
  ['categories create --nam dog', 'unknown option "--nam"', 'did you mean `--name`?'],
  ['categories create --descr x', 'unknown option "--descr"', 'did you mean `--description`?'],
  ['categories create -p staging --quit', 'unknown option "--quit"', 'did you mean `--quiet`?'],
  ['categories create --bogus', 'unknown option "--bogus"', see('categories create ')],
  ['categories create', 'required option "--name <name>" not specified', see('categories create ')],
  ['categories create --name ', '--name is empty', 'pass a name, for example --name dog'],
  [
    'categories create dog --description x',
    'required option "--name <name>" not specified',
    'did you mean `petstore categories create --name dog --description x`?',
  ],
  [
    'categories ls --format x',
    'option "--format <format>" argument "x" is invalid',
    'use table, json, ndjson, csv or tsv',
  ],
  ['completion x', 'invalid shell "x"', 'use bash, zsh, fish or powershell'],
  ['doctor foo', 'too many arguments for "doctor"', see('doctor ')],
  ['api categories', 'missing required argument "path"', 'did you mean `petstore api GET categories`?'],
  ['categories import', 'missing required argument "file"', 'pass a file, or - to read stdin'],
  ['categories import a --concurrency 0', 'invalid number "0" for --concurrency', 'use a whole number from 1 to 64'],
  ['categories import a --concurrency 65', 'invalid number "65" for --concurrency', 'use a whole number from 1 to 64'],
  [
    'api POST x --data 1 --input -',
    'option "-d, --data <json>" cannot be used with option "--input <file>"',
    'use one of them',
  ],
  ['categories list --max-wait', 'option "--max-wait <duration>" argument missing', see('')],
  ['quota --max-wait foo', 'invalid duration "foo" for --max-wait', 'use a duration such as 500ms, 30s, 2m or 1h'],
  ['categories list --timeout 0', '--timeout must be greater than 0', 'use a value such as 30s'],
  ['categories list --max-retries x', 'invalid number "x" for --max-retries', 'use a whole number from 0 to 999'],
])('`petstore %s` is a usage error: %s', async (line, message, hint) => {
  expect(await inProcess(line.split(' '))).toEqual({ code: 2, out: '', err: `error: ${message}\nhint: ${hint}\n` });
});

test('an argument with invalid UTF-8 is a usage error', async () => {
  const { code, out, err } = await inProcess(['categories', 'create', '--name', 'caf\ufffd', '-p', 'sandbox']);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain('is not valid UTF-8');
});
