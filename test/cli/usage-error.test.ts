// Usage errors: each names the mistake, and most have a hint that names the correction.
import { expect, test } from 'vitest';
import { inProcess } from '../support/world.ts';

const see = (path = '') => `see \`petstore ${path}--help\``;
const meant = (words: string) => `did you mean \`${words}\`?`;

const NO_KEY_OPTION = 'there is no option for the API key';
const PIPE_KEY = 'pipe the key to `petstore auth login`';
const PROFILES = 'run `petstore auth status` to list the profiles';
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS';

// A line that ends in a space has an empty last argument.
const ROWS: readonly (readonly [line: string, message: string, hint: string | undefined])[] = [
  ['foo', 'unknown command "foo"', see()],
  ['categoris list', 'unknown command "categoris"', meant('petstore categories list')],
  ['categoris', 'unknown command "categoris"', meant('petstore categories')],
  ['categories lst', 'unknown command "lst"', meant('petstore categories list')],
  ['cat list', 'unknown command "cat"', meant('petstore categories list')],
  ['categories login', 'unknown command "login"', meant('petstore auth login')],
  ['list', 'unknown command "list"', meant('petstore categories list')],
  ['category create dog', 'unknown command "category"', meant('petstore categories create')],
  ['categories add dog', 'unknown command "add"', meant('petstore categories create')],
  ['categories new dog', 'unknown command "new"', meant('petstore categories create')],
  ['categories show dog', 'unknown command "show"', meant('petstore categories get')],
  ['categories view dog', 'unknown command "view"', meant('petstore categories get')],
  ['auth use staging', 'unknown command "use"', meant('petstore auth switch')],
  ['whoami -p staging', 'unknown command "whoami"', meant('petstore auth status')],
  ['version', 'unknown command "version"', meant('petstore --version')],
  ['auth ls', 'unknown command "ls"', meant('petstore auth status')],
  ['categories export', 'unknown command "export"', meant('petstore categories list')],
  ['help lst', 'unknown command or topic "lst"', meant('petstore help categories list')],
  ['help categories lst', 'unknown command or topic "lst"', meant('petstore help categories list')],
  ['help exit-code', 'unknown command or topic "exit-code"', meant('petstore help exit-codes')],
  ['help foo', 'unknown command or topic "foo"', see()],
  ['categories help lst', 'unknown command "help"', see('categories ')],
  ['categories foo --help', 'unknown command "foo"', see('categories ')],
  ...['delete', 'remove', 'rm', 'update', 'edit', 'rename'].map((word) => {
    const message = `unknown command "${word}": the service can only list and create categories`;
    return [`categories ${word} dog`, message, undefined] as const;
  }),
  ['auth remove farm', 'unknown command "remove"', see('auth ')],
  ['categories list --serach x', 'unknown option "--serach"', 'did you mean --search?'],
  ['categories list --serach -h', 'unknown option "--serach"', 'did you mean --search?'],
  ['categories list --output=csv', 'unknown option "--output"', 'did you mean --format?'],
  ['categories list -o json', 'unknown option "-o"', 'did you mean --format?'],
  ['categories get dog -o json', 'unknown option "-o"', 'did you mean --json?'],
  ['categories list --filter cat', 'unknown option "--filter"', 'did you mean --search?'],
  ['categories create --nam dog', 'unknown option "--nam"', 'did you mean --name?'],
  ['categories create -p staging --quit', 'unknown option "--quit"', 'did you mean --quiet?'],
  ['categories list --version', 'unknown option "--version"', meant('petstore --version')],
  ['categories list -V', 'unknown option "-V"', meant('petstore --version')],
  ['categories create --bogus', 'unknown option "--bogus"', see('categories create ')],
  ['-profile staging categories list', 'unknown option "-profile"', 'did you mean --profile?'],
  ['categories create -name dog', 'unknown option "-name"', 'did you mean --name?'],
  ['categories create --description -name', '--name is required', 'pass a value, for example --name dog'],
  ['categories create -- --name dog', 'unexpected argument "--name"', 'put options before --'],
  ['categories get -- -dog --quiet', 'unexpected argument "--quiet"', 'put options before --'],
  ['quota --json=true', '--json takes no value', 'use --json without a value'],
  ['categories list --search', '--search needs a value', 'pass a value, for example --search cat'],
  ['categories import --encoding', '--encoding needs a value', 'pass a value, for example --encoding windows-1252'],
  ['categories list --max-wait', '--max-wait needs a value', 'pass a value, for example --max-wait 2m'],
  ['categories list --format', '--format needs a value', 'use table, json, ndjson, csv or tsv'],
  ['categories list --profile', '--profile needs a value', PROFILES],
  ['auth switch', 'PROFILE is required', PROFILES],
  ['categories create', '--name is required', 'pass a value, for example --name dog'],
  ['categories create --name \t', '--name is empty', 'pass a name, for example --name dog'],
  ['categories create dog --description x', '--name is required', 'use --name dog'],
  ['categories create guinea pig', '--name is required', "use --name 'guinea pig'"],
  [
    'categories create --name dog Canis familiaris',
    'unexpected argument "Canis"',
    'quote a value that contains spaces',
  ],
  ['categories import a.csv de.csv', 'unexpected argument "de.csv"', 'import one file at a time'],
  ['categories get guinea pig', 'unexpected argument "pig"', 'quote a value that contains spaces'],
  ['categories get', 'NAME is required', 'pass a name, or an id with --id'],
  ['categories get ', 'NAME is empty', 'pass a name, or an id with --id'],
  ['categories get dog --id 1', 'NAME and --id cannot be combined', 'use one of them'],
  ['categories get --id x', 'invalid value "x" for --id', 'use a whole number'],
  ['auth login a b', 'unexpected argument "b"', see('auth login ')],
  ['doctor foo', 'unexpected argument "foo"', see('doctor ')],
  ['categories ls --format xml', 'invalid value "xml" for --format', 'use table, json, ndjson, csv or tsv'],
  ['completion x', 'invalid value "x" for SHELL', 'use bash, zsh, fish or powershell'],
  ['completion', 'SHELL is required', 'use bash, zsh, fish or powershell'],
  ['api', 'PATH is required', 'pass a path, for example categories'],
  ['api get', 'PATH is required', 'pass a path, for example categories'],
  ['api ', 'PATH is empty', 'pass a path, for example categories'],
  ['api GET ', 'PATH is empty', 'pass a path, for example categories'],
  ['api categories GET', 'invalid value "categories" for METHOD', `use ${METHODS}`],
  ['api categories --data ', '--data is empty', 'use a JSON document such as {"name":"dog"}'],
  ['api categories --data', '--data needs a value', `pass a value, for example --data '{"name":"dog"}'`],
  ['categories import', 'FILE is required', 'pass a file, or - to read stdin'],
  ['categories import a --concurrency 0', 'invalid number "0" for --concurrency', 'use a whole number from 1 to 64'],
  ['api POST x --data 1 --input -', '--data and --input cannot be combined', 'use one of them'],
  ['quota --max-wait foo', 'invalid duration "foo" for --max-wait', 'use a duration such as 500ms, 30s or 1m30s'],
  ['categories list --timeout 0', '--timeout must be greater than 0', 'use a value such as 30s'],
  ['sandbox --port 65536', 'invalid number "65536" for --port', 'use a whole number from 0 to 65,535'],
  ['sandbox --plan x', 'invalid value "x" for --plan', 'use free, pro, business or enterprise'],
  ['sandbox --retry-after x', 'invalid value "x" for --retry-after', 'use seconds, date or none'],
  ['sandbox --limit 5', 'invalid value "5" for --limit', 'use REQUESTS/DURATION, for example 60/1m, 1000/1d or 60/6s'],
  ['sandbox --fault 500:200', 'invalid percentage "200" for --fault', 'use a number from 0 to 100, for example 500:10'],
  ['auth login --key pk_live_0123456789abcdef', NO_KEY_OPTION, PIPE_KEY],
  ['auth login --api-key=abc-defg-hij', NO_KEY_OPTION, PIPE_KEY],
  ['auth login staging sk_live_0123456789abcdef', 'unexpected argument "[redacted]"', PIPE_KEY],
  ['doctor sk_live_0123456789abcdef', 'unexpected argument "[redacted]"', PIPE_KEY],
  ['categories list --Api_Token ab=cd-efg', NO_KEY_OPTION, PIPE_KEY],
];

test.each(ROWS)('the arguments %j are a usage error: %s', async (line, message, hint) => {
  const text = `error: ${message}\n${hint === undefined ? '' : `hint: ${hint}\n`}`;
  expect(await inProcess(line.split(' '))).toEqual({ code: 2, out: '', err: text });
  const asJson = /--json|--format/.test(line) ? undefined : await inProcess(['--json', ...line.split(' ')]);
  if (asJson) expect(JSON.parse(asJson.err)).toEqual({ error: { kind: 'usage', message, hint } });
});

test('a usage error does not repeat an argument that equals the value of PETSTORE_API_KEY', async () => {
  const env = { PETSTORE_API_KEY: '0123456789abcdef' };
  const { code, err } = await inProcess(['auth', 'switch', '0123456789abcdef'], { env });
  expect([code, err]).toEqual([2, expect.not.stringContaining('0123456789abcdef')]);
});

const SUGGESTIONS = ROWS.flatMap(([line, , hint = '']) => {
  const [, name = ''] = /^did you mean `?(.*?)`?\?$/.exec(hint) ?? [];
  if (name === '') return [];
  const command = name.startsWith('--') ? line : name.replace('petstore ', '');
  return [[line, name, command.split(' ').filter((word) => /^(?!staging)[a-z]/.test(word))] as const];
});

test.each(SUGGESTIONS)('the error about `petstore %s` suggests `%s`, which exists', async (_line, name, words) => {
  const { code, out } = await inProcess([...words, '--help']);
  expect([code, out]).toEqual([
    0,
    expect.stringContaining(name.replace(/^petstore (?:help )?(?!categories|auth)/, '')),
  ]);
});

const JSON_START = '{"error":{"kind":"usage","message":"';

test.each([
  ['quota --max-wait foo --json', `${JSON_START}invalid duration `],
  ['quota --format xml --json', `${JSON_START}invalid value `],
  ['categories list --sort x --json', `${JSON_START}invalid value `],
  ['categories import a --concurrency 0 --json', `${JSON_START}invalid number `],
  ['--format=json quota --max-retries', `${JSON_START}--max-retries needs a value"`],
  ['-qv --format json foo', `${JSON_START}unknown command `],
  // Here, --json is an argument or a value.
  ['categories list -- --json', 'error: '],
  ['categories create --name=--json extra', 'error: '],
  ['categories create --name --json extra', 'error: '],
])('the error about `petstore %s` begins with `%s`', async (line, start) => {
  const { err } = await inProcess(line.split(' '));
  expect(err.slice(0, start.length)).toBe(start);
});

test.each([
  ['categories import -yh', 'categories import'],
  ['-qh', '[options]'],
  ['api -h', 'api'],
  ['categories', 'categories'],
  ['auth -q', 'auth'],
])('`petstore %s` prints help', async (line, name) => {
  const { code, out, err } = await inProcess(line.split(' '));
  expect({ code, out, err }).toEqual({ code: 0, out: expect.stringContaining(`Usage: petstore ${name} `), err: '' });
});

test.each([
  ['-V', '1.0.0'],
  ['--version categories list', '1.0.0'],
  ['-q --version --json', '{"version":"1.0.0"}'],
])('`petstore %s` prints the version as %s', async (line, version) => {
  expect(await inProcess(line.split(' '))).toEqual({ code: 0, out: `${version}\n`, err: '' });
});

test.each(['-h', '--help', '--json', '-p'])(
  '`categories create --name %s` creates a category with this name',
  async (name) => {
    const { code, out } = await inProcess(['categories', 'create', '--name', name, '-p', 'sandbox', '-q']);
    expect({ code, out }).toEqual({ code: 0, out: `Created category "${name}" (id 1)\n` });
  },
);

test('an argument with U+FFFD, which Node.js puts in place of invalid UTF-8, is a usage error', async () => {
  const { code, out, err } = await inProcess(['categories', 'create', '--name', 'caf\ufffd', '-p', 'sandbox']);
  expect([code, out, err]).toEqual([2, '', expect.stringContaining('is not valid UTF-8')]);
});
