// Help: every command explains itself with examples that parse, fits the terminal, and is found by its words.
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { manPage } from '../../scripts/generate-docs.mjs';
import { describeCommands } from '../../src/commands/help.ts';
import { createProgram } from '../../src/program.ts';
import { tempDir } from '../support/temp-dir.ts';
import { inProcess, world } from '../support/world.ts';

/** The command list of the contract. */
const COMMANDS = [
  'categories list',
  'categories create',
  'categories import',
  'api',
  'auth login',
  'auth logout',
  'auth status',
  'auth switch',
  'quota',
  'doctor',
  'sandbox',
  'completion',
  'help',
];

const reference = describeCommands(createProgram(world([])));
const all = allOf(createProgram(world([])));

function allOf(command: Command): Command[] {
  return [command, ...command.createHelp().visibleCommands(command).flatMap(allOf)];
}

const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
const wordsOf = (command: Command): string[] => pathOf(command).split(' ').slice(1);

test('--help --json lists every command of the contract, with global options, exit codes and environment', async () => {
  const { code, out } = await inProcess(['--help', '--json']);
  expect(code).toBe(0);
  const document = JSON.parse(out);
  expect(document.commands.map(({ path }: { path: string }) => path)).toEqual(COMMANDS);
  expect(document.globalOptions.map(({ long }: { long: string }) => long)).toEqual(
    expect.arrayContaining(['--profile', '--json', '--max-wait', '--max-retries', '--timeout', '--quiet', '--verbose']),
  );
  expect(document.exitCodes.map((one: { code: number }) => one.code)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 130]);
  expect(document.environment.length).toBeGreaterThan(10);
});

test.each(reference.commands.map((command) => [command.path, command] as const))(
  '%s has a description, a description of its output and two worked examples of its own',
  (path, { description, notes, examples }) => {
    expect(description).not.toBe('');
    expect(examples.filter((line) => line.includes(`petstore ${path}`)).length).toBeGreaterThanOrEqual(2);
    if (path !== 'help') expect(notes).toContain('Output: ');
  },
);

// Splits as a shell does, as far as examples go: quotes, and one command of a pipe.
function argumentsOf(example: string): string[] {
  const own = example
    .replace(/\s+#.*$/, '')
    .split(/\s*\|\s*/)
    .map((part) => /(?:^|\$\()(petstore .*?)(?:\)")?$/.exec(part)?.[1])
    .find((part) => part !== undefined);
  const bare = (own ?? '').replace(/\s[<>]\s*\S+/g, '');
  return [...bare.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map((m) => m[1] ?? m[2] ?? m[3] ?? '').slice(1);
}

const examples = [...reference.examples, ...reference.commands.flatMap((command) => command.examples)];

test.each([...new Set(examples)])('the example `%s` is valid usage', async (example) => {
  const fresh = createProgram(world([]));
  let ran = '';
  for (const command of allOf(fresh).filter(({ commands }) => commands.length === 0)) {
    command.action(() => {
      ran = command.name();
    });
  }
  await fresh.parseAsync(argumentsOf(example), { from: 'user' });
  expect(ran).not.toBe('');
});

test.each([40, 80])('at %i columns no line of any help text is wider, except usage and examples', async (columns) => {
  for (const command of all) {
    const { code, out } = await inProcess([...wordsOf(command), '--help'], { columns });
    expect(code).toBe(0);
    const plain = out.replaceAll(/\u001b\[\d+m/g, '');
    const wide = plain
      .split('\n')
      .filter((line) => line.length > columns && !/^(?: +(?:\$|--?\w|\S+$)|Usage:)/.test(line));
    expect(wide, pathOf(command)).toEqual([]);
  }
});

test('help of a subcommand names the global options on at most two lines, petstore --help explains them', async () => {
  const { out } = await inProcess(['categories', 'create', '--help']);
  const [line = ''] = /^Global options: [\s\S]*$/m.exec(out) ?? [];
  expect(line.trimEnd().split('\n').length).toBeLessThanOrEqual(2);
  for (const { long } of reference.globalOptions) expect(line).toContain(long);
  expect(out).not.toContain('maximum wait');
  expect((await inProcess(['--help'])).out).toContain('maximum wait for the rate limit');
});

test('help WORDS is the help of that command, aliases too', async () => {
  const { out } = await inProcess(['categories', 'create', '--help']);
  expect((await inProcess(['help', 'categories', 'create'])).out).toBe(out);
  const list = await inProcess(['categories', 'list', '--help']);
  expect((await inProcess(['help', 'categories', 'ls'])).out).toBe(list.out);
  expect(out).toContain('Usage: petstore categories create');
});

test('help of an unknown command is wrong usage, and repeats no key', async () => {
  expect(await inProcess(['help', 'categories', 'craete'])).toEqual({
    code: 2,
    out: '',
    err: 'error: unknown command "craete"\nhint: see `petstore categories --help`\n',
  });
  const key = 'sk_canary_0123456789';
  expect((await inProcess(['help', key])).err).not.toContain(key);
});

test.each([
  [['--help', '--json'], COMMANDS],
  [['help', '--json'], COMMANDS],
  [['categories', '--help', '--json'], COMMANDS.filter((path) => path.startsWith('categories '))],
  [['--json', 'categories', 'ls', '--search', 'x', '--help'], ['categories list']],
  [['categories', 'create', '-h', '--format=json'], ['categories create']],
  [['help', 'categories', 'create', '--json'], ['categories create']],
])('%j prints the reference as JSON, limited to %j', async (args, paths) => {
  const { code, out, err } = await inProcess(args);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const document = JSON.parse(out);
  const whole = JSON.parse((await inProcess(['--help', '--json'])).out);
  expect(document).toEqual({
    ...whole,
    commands: whole.commands.filter(({ path }: { path: string }) => paths.includes(path)),
  });
});

test.each([[['--version', '--json']], [['--json', '-V']], [['--format', 'json', 'categories', '--version']]])(
  '%j prints the version as one document',
  async (args) => {
    expect(await inProcess(args)).toEqual({ code: 0, out: '{"version":"1.0.0"}\n', err: '' });
  },
);

test.each([40, 60, 80])(
  'a bare petstore at %i columns shows what to do first, broken between words',
  async (columns) => {
    const { code, out } = await inProcess([], { columns });
    expect(code).toBe(0);
    expect(out).toContain('petstore auth login');
    expect(out).toContain('-p sandbox');
    // Commands are to be copied and stay whole.
    expect(out.split('\n').filter((line) => line.length > columns && !/^ +\$ /.test(line))).toEqual([]);
    const words = (text: string): string[] => text.split(/\s+/);
    expect(words(out)).toEqual(words((await inProcess([])).out));
  },
);

test('headings are bold on a terminal with colour, and plain otherwise', async () => {
  const on = await inProcess(['--help'], { columns: 80, env: { TERM: 'xterm-256color' } });
  expect(on.out).toContain('\u001b[1mUsage:\u001b[22m');
  for (const args of [['--help', '--no-color'], ['--help']]) {
    const off = await inProcess(args, { columns: 80, env: { TERM: 'xterm-256color', NO_COLOR: '1' } });
    expect(off.out).not.toContain('\u001b');
  }
});

const see = (path: string) => `see \`petstore ${path}--help\``;

test.each([
  [['foo'], 'unknown command "foo"', see('')],
  [['categoris', 'list'], 'unknown command "categoris"', 'did you mean `petstore categories`?'],
  [['categories', 'lst'], 'unknown command "lst"', 'did you mean `petstore categories list`?'],
  [['login'], 'unknown command "login"', 'did you mean `petstore auth login`?'],
  [['list'], 'unknown command "list"', 'did you mean `petstore categories list`?'],
  [['categories'], 'missing subcommand after `petstore categories`', 'use list, create or import'],
  [['categories', 'list', '--serach', 'x'], 'unknown option "--serach"', 'did you mean `--search`?'],
  [['categories', 'create', '--nam', 'dog'], 'unknown option "--nam"', 'did you mean `--name`?'],
  [['categories', 'create', '--desciption', 'x'], 'unknown option "--desciption"', 'did you mean `--description`?'],
  [['categories', 'create', '-p', 'staging', '--quit'], 'unknown option "--quit"', 'did you mean `--quiet`?'],
  [['categories', 'create', '--bogus'], 'unknown option "--bogus"', see('categories create ')],
  [['categories', 'create'], '--name is required', see('categories create ')],
  [['categories', 'create', 'dog'], '--name is required', 'did you mean `petstore categories create --name dog`?'],
  [
    ['categories', 'list', '--format', 'xml'],
    'invalid value "xml" for --format',
    'use table, json, ndjson, csv or tsv',
  ],
  [['completion', 'foo'], 'unknown shell "foo"', 'use bash, zsh, fish or powershell'],
  [['doctor', 'foo'], 'unexpected argument "foo" for `petstore doctor`', see('doctor ')],
  [['api', 'categories'], 'missing argument <path>', 'did you mean `petstore api GET categories`?'],
  [['api', 'POST', 'x', '--data', '1', '--input', '-'], '--data and --input cannot be combined', 'use one of them'],
  [['categories', 'list', '--max-wait'], '--max-wait requires a value', see('')],
  [
    ['categories', 'list', '--max-wait', 'foo'],
    'invalid duration "foo" for --max-wait',
    'use a duration such as 500ms, 30s, 2m or 1h',
  ],
  [['categories', 'list', '--timeout', '0'], '--timeout must be greater than 0', 'use a value such as 30s'],
  [
    ['categories', 'list', '--max-retries', 'x'],
    'invalid number "x" for --max-retries',
    'use a whole number from 0 to 999',
  ],
])('petstore %j is wrong usage: %s', async (args, message, hint) => {
  expect(await inProcess(args)).toEqual({ code: 2, out: '', err: `error: ${message}\nhint: ${hint}\n` });
});

test('an invalid variable is named in place of its option', async () => {
  const { err } = await inProcess(['categories', 'list'], { env: { PETSTORE_MAX_WAIT: 'soon' } });
  expect(err).toContain('error: invalid duration "soon" for PETSTORE_MAX_WAIT\n');
});

test.each([
  [['auth', 'login', '--api-key=abc-defg-hij'], 'abc-defg', 'unknown option "--api-key"'],
  [['auth', 'login', '--api-key=ab\ncdefg'], 'cdefg', 'unknown option "--api-key"'],
  [['categories', 'create', '--token=ab=cd-efg'], 'cd-efg', 'unknown option "--token"'],
  [['auth', 'switch', 'testkey-abcdefghijkl'], 'abcdefgh', 'available profiles: production'],
  [['auth', 'status', '-p', 'testkey-abcdefghijkl'], 'abcdefgh', 'available profiles: production'],
  [['auth', 'status', '-ptestkey-abcdefghijkl'], 'abcdefgh', 'available profiles: production'],
  [['auth', 'login', '-p', 'testkey-abcdefghijkl'], 'abcdefgh', 'run `petstore auth login` and enter the key'],
  [['auth', 'switch', 'abcdefghijklmnop'], 'abcdefgh', 'available profiles: production'],
  [['abcdefghijklmnop'], 'abcdefgh', 'unknown command'],
  [['categories', 'list', '-kabcdefghijklmnop'], 'abcdefgh', 'unknown option'],
  [['categories', 'list', '-ksk_live_ab12'], 'ab12', 'unknown option'],
  [['categories', 'list', '--sort=abcdefghijklmnop'], 'abcdefgh', 'invalid value'],
  [['auth', 'login', '--url', 'https://sk_live_abcd1234efgh5678'], 'abcd1234', 'https://HOST/v1'],
  [['auth', 'login', '--url', 'https://SK_LIVE_ABCD1234'], 'abcd1234', 'https://HOST/v1'],
  [['auth', 'login', '--url', 'https://api.example/testkey-abcdefghijkl'], 'abcdefgh', 'https://HOST/v1'],
  [['auth', 'login', '--url', 'https://abcd1234efgh5678'], 'abcd1234', 'https://HOST/v1'],
  [['categories', 'import', 'keys/sk_live_abcd1234'], 'abcd1234', 'keys/[redacted]'],
  [['Bearer abcdef0123456789abcd'], 'abcdef01', 'unknown command'],
  [['key:abcdef0123456789abcd'], 'abcdef01', 'key:[redacted]'],
  [['-p', '"abcdef0123456789abcd"', 'categories', 'list'], 'abcdef01', 'is not a valid profile name'],
  [['sandbox', '--seed', 'k'.repeat(70)], 'kkkk', 'invalid value for --seed'],
])('of %j the key is not repeated, but the rest is', async (args, key, words) => {
  const { code, out, err } = await inProcess(args, { stdin: '' });
  expect([2, 3]).toContain(code);
  expect((out + err).toLowerCase()).not.toContain(key);
  expect(err).toContain(words);
});

test.each([
  [['auth', 'switch', 'my-farm-in-europe'], '"my-farm-in-europe"'],
  [['auth', 'switch', 'monkey-business'], '"monkey-business"'],
  [['categories', 'import', 'exports/species-of-2024-01-31.csv'], 'exports/species-of-2024-01-31.csv'],
  [['categories', 'import', 'sk_animals.csv'], 'sk_animals.csv'],
  [['auth', 'login', '--url', 'https://api-2.petstore.example'], 'did you mean https://api-2.petstore.example/v1?'],
  [['auth', 'login', '--url', 'https://petstore-api/api-gateway'], 'did you mean https://petstore-api/api-gateway/v1?'],
  [['categories', 'list', '--serch=cats'], 'did you mean `--search`?'],
])('of %j nothing is a key, and everything is repeated', async (args, words) => {
  const { code, err } = await inProcess(args, { stdin: '' });
  expect(code).toBe(2);
  expect(err).toContain(words);
});

test.each([
  ['categories', 'list', '--x\u001b[2J'],
  ['x\u009b31m\u202e'],
  ['-p', '\u001b]0;x\u0007', 'categories', 'list'],
  ['api', 'GET', '/\u001b[2J'],
  ['categories', 'import', '\u001b[2J.csv', '-p', 'sandbox'],
  ['help', '\u001b[2J'],
])('control characters of an argument are escaped: %j', async (...args) => {
  for (const more of [[], ['--json']]) {
    const { code, out, err } = await inProcess([...more, ...args], { columns: 80, env: { NO_COLOR: '1' } });
    expect(code).toBe(2);
    expect(out + err).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  }
});

test('an argument that was not valid UTF-8 is rejected before anything is sent', async () => {
  const { code, out, err } = await inProcess(['categories', 'create', '--name', 'caf\ufffd', '-p', 'sandbox']);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain('is not valid UTF-8');
});

test('the manual page names every command and every option', () => {
  const man = manPage(reference);
  for (const command of reference.commands) {
    expect(man).toContain(`.SS ${command.usage.replaceAll('-', '\\-')}`);
    for (const option of command.options) expect(man).toContain(`.B ${option.flags.replaceAll('-', '\\-')}`);
  }
  // Other lines that begin with a dot or a quote would vanish.
  const macros = /^\.(?:TH|SH|SS|TP|PP|B|I|BR|RI|nf|fi|RS|RE)(?: |$)/;
  expect(man.split('\n').filter((line) => /^[.']/.test(line) && !macros.test(line))).toEqual([]);
});

test('every default is part of the reference, of help and of the manual page, and so is what is required', async () => {
  const global = reference.globalOptions.map((option) => ({ ...option, path: '', required: false }));
  const options = [
    ...global,
    ...reference.commands.flatMap(({ path, options }) => options.map((option) => ({ ...option, path }))),
  ];
  const defaults = options.flatMap((one) =>
    one.default === undefined ? [] : [`${one.path} ${one.long} ${one.default}`],
  );
  expect(defaults).toEqual([
    ' --profile the active one',
    ' --max-wait 2m',
    ' --max-retries 4',
    ' --timeout 30s',
    'categories list --format table',
    'categories list --sort service order',
    'categories import --concurrency 8',
    'sandbox --port 4010',
    'sandbox --plan free',
    'sandbox --retry-after seconds',
  ]);
  expect(options.filter(({ required }) => required).map(({ path, long }) => `${path} ${long}`)).toEqual([
    'categories create --name',
  ]);
  const man = manPage(reference).replaceAll('\\-', '-');
  for (const { path, flags, default: value, required } of options) {
    if (value === undefined && !required) continue;
    const fact = required ? /\(required\)/ : new RegExp(`[(; ]default: ${value}\\)`);
    const help = (await inProcess([...path.split(' ').filter(Boolean), '--help'], { columns: 100 })).out;
    expect(help.replace(/\s+/g, ' ').split(` ${flags} `)[1]?.split(' --')[0]).toMatch(fact);
    expect(man.split(`.B ${flags}\n`)[1]?.split('\n')[0]).toMatch(fact);
  }
});

const groff = spawnSync('groff', ['--version']).status === 0;

test(
  groff ? 'groff formats the manual page without a warning' : 'the manual page ends its blocks (no groff here)',
  () => {
    const man = manPage(reference);
    const count = (macro: string): number => man.split('\n').filter((line) => line === macro).length;
    expect(count('.nf')).toBe(count('.fi'));
    expect(count('.RS')).toBe(count('.RE'));
    if (!groff) return;
    const file = join(tempDir(), 'petstore.1');
    writeFileSync(file, man);
    const { stderr } = spawnSync('groff', ['-man', '-ww', '-Tutf8', file]);
    expect(stderr.toString()).toBe('');
    const page = execFileSync('groff', ['-man', '-Tascii', '-P-c', file])
      .toString()
      .replaceAll(/.\u0008/g, '');
    expect(page).toContain('petstore categories create --name dog');
  },
);
