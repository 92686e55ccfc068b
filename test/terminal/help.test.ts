// Help: every command explains itself with examples that parse, fits the terminal, and is found by its words.
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createProgram } from '../../src/program.ts';
import { toMan } from '../../src/reference/man.ts';
import { toMarkdown } from '../../src/reference/markdown.ts';
import type { CommandNode } from '../../src/reference/tree.ts';
import { everyCommand, describe as tree } from '../../src/reference/tree.ts';
import { place } from '../support/program.ts';
import { inProcess, world } from '../support/world.ts';

const root = tree(createProgram(world([]), () => undefined));
const all = [...everyCommand(root)];
const leaves = all.filter((node) => node.commands.length === 0);
const nameOf = (node: CommandNode): string => node.path.join(' ');

test.each(all.map((node) => [nameOf(node), node] as const))(
  '%s has a description and two worked examples',
  (name, node) => {
    expect(node.description).not.toBe('');
    expect(node.examples.length).toBeGreaterThanOrEqual(2);
    // Of itself, not of another command; those of a noun are of its verbs.
    expect(node.examples.filter((line) => line.includes(name)).length).toBeGreaterThanOrEqual(2);
  },
);

test.each(leaves.map((node) => [nameOf(node), node] as const))('%s says what it prints', (_name, node) => {
  expect(node.notes).toMatch(/^Output: /m);
});

// Splits as a shell does, as far as examples go: quotes, and one command of a pipe.
function wordsOf(example: string): string[] {
  const own = example
    .replace(/\s+#.*$/, '')
    .split(/\s*\|\s*/)
    .map((part) => /(?:^|\()(petstore .*?)(?:\)"?)?$/.exec(part)?.[1])
    .find((part) => part !== undefined);
  const bare = (own ?? '').replace(/\s[<>]\s*\S+/g, '');
  return [...bare.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map((m) => m[1] ?? m[2] ?? m[3] ?? '').slice(1);
}

const examples = all.flatMap((node) => node.examples);

test.each([...new Set(examples)])('the example `%s` is right usage', async (example) => {
  const program = createProgram(world([]), () => undefined);
  let ran = '';
  for (const command of everyCommandOf(program)) {
    command.action(() => {
      ran = command.name();
    });
  }
  await program.parseAsync(wordsOf(example), { from: 'user' });
  expect(ran).not.toBe('');
});

type Program = ReturnType<typeof createProgram>;

function everyCommandOf(command: Program): Program[] {
  const below = command.commands.flatMap((child) => everyCommandOf(child as Program));
  return command.commands.length === 0 ? [command] : below;
}

test.each([40, 80])(
  'at %i columns no line of any help text is wider, but for examples, which stay whole',
  async (columns) => {
    for (const node of all) {
      const { code, out } = await inProcess([...node.path.slice(1), '--help'], { columns });
      expect(code).toBe(0);
      const plain = out.replaceAll(/\u001b\[\d+m/g, '');
      const wide = plain.split('\n').filter((line) => line.length > columns && !/^ +(?:\$|--?\w)/.test(line));
      expect(wide, nameOf(node)).toEqual([]);
    }
  },
);

test('help by words is the help of that command, aliases too', async () => {
  const { out } = await inProcess(['categories', 'create', '--help']);
  expect((await inProcess(['help', 'categories', 'create'])).out).toBe(out);
  const list = await inProcess(['categories', 'list', '--help']);
  expect((await inProcess(['help', 'categories', 'ls'])).out).toBe(list.out);
  expect(out).toContain('Usage: petstore categories create');
});

test('help on what there is not names the nearest, and repeats nothing', async () => {
  const mistyped = await inProcess(['help', 'categories', 'craete']);
  expect(mistyped).toMatchObject({ code: 2, out: '' });
  expect(mistyped.err).toContain('did you mean create?');
  const key = 'sk_canary_0123456789';
  expect((await inProcess(['help', key])).err).not.toContain(key);
});

test('help --json is the command as data', async () => {
  const { out } = await inProcess(['help', 'categories', 'list', '--json']);
  expect(JSON.parse(out)).toMatchObject({ path: ['petstore', 'categories', 'list'], aliases: ['ls'] });
});

test.each([
  [
    ['--help', '--json'],
    ['help', '--json'],
  ],
  [
    ['--json', '-h'],
    ['help', '--json'],
  ],
  [
    ['help', '--help', '--json'],
    ['help', 'help', '--json'],
  ],
  [
    ['categories', '--help', '--json'],
    ['help', 'categories', '--json'],
  ],
  [
    ['--json', 'categories', 'ls', '--search', 'x', '--help'],
    ['help', 'categories', 'list', '--json'],
  ],
  [
    ['categories', 'create', '-h', '--format=json'],
    ['help', 'categories', 'create', '--json'],
  ],
])('%j prints the one document of %j', async (asked, same) => {
  for (const columns of [undefined, 80]) {
    const { code, out, err } = await inProcess(asked, columns ? { columns } : {});
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(JSON.parse(out)).toHaveProperty('path');
    expect(out).toBe((await inProcess(same, columns ? { columns } : {})).out);
  }
});

test.each([[['--version', '--json']], [['--json', '-V']], [['--format', 'json', 'categories', '--version']]])(
  '%j prints the version as one document',
  async (args) => {
    expect(await inProcess(args)).toEqual({ code: 0, out: '{"version":"1.0.0"}\n', err: '' });
  },
);

test('a bare petstore says what to do first', async () => {
  const { code, out } = await inProcess([]);
  expect(code).toBe(0);
  expect(out).toContain('petstore auth login');
  expect(out).toContain('-p sandbox');
});

// What a terminal of that width shows, and nothing but commands, which are to be copied, is broken by the terminal itself.
function expectFits(out: string, columns: number): void {
  const wide = out.split('\n').filter((line) => line.length > columns && !/^ +\$ /.test(line));
  expect(wide).toEqual([]);
}

test.each([40, 60, 80])('a bare petstore at %i columns breaks between words', async (columns) => {
  const { out } = await inProcess([], { columns });
  expectFits(out, columns);
  const words = (text: string): string[] => text.split(/\s+/);
  expect(words(out)).toEqual(words((await inProcess([])).out));
});

test.each([40, 60, 80, 120])('petstore commands at %i columns is whole and breaks between words', async (columns) => {
  const { out } = await inProcess(['commands'], { columns, env: { NO_COLOR: '1' } });
  expectFits(out, columns);
  expect(out).not.toContain('…');
  const words = (text: string): string[] => text.split(/\s+/).filter(Boolean);
  const piped = words((await inProcess(['commands'])).out);
  // The headings go where there are no columns.
  expect(words(out)).toEqual(columns < 70 ? piped.slice(words('COMMAND WHAT IT DOES').length) : piped);
});

test('headings are bold on a terminal with colour, and plain otherwise', async () => {
  const on = await inProcess(['--help'], { columns: 80, env: { TERM: 'xterm-256color' } });
  expect(on.out).toContain('\u001b[1mUsage:\u001b[22m');
  for (const args of [['--help', '--no-color'], ['--help']]) {
    const off = await inProcess(args, { columns: 80, env: { TERM: 'xterm-256color', NO_COLOR: '1' } });
    expect(off.out).not.toContain('\u001b');
  }
});

test.each([
  [['categoris', 'list'], 'did you mean categories?'],
  [['categories', 'lst'], 'did you mean one of list, ls?'],
  [['categories', 'list', '--serach', 'x'], 'did you mean --search?'],
  [['categories', 'create', '--nam', 'dog'], "unknown option '--nam'\nhint: did you mean --name?"],
  [['categories', 'create', '--desciption', 'x'], 'did you mean --description?'],
  [['--jsn', 'categories', 'create'], "unknown option '--jsn'"],
  [['categories', 'create', '-p', 'staging', '--quit'], 'did you mean --quiet?'],
  [['categories', 'create', 'dog'], 'did you mean `petstore categories create --name dog`?'],
  [['categories', 'create', '--bogus'], 'see `petstore categories create --help`'],
  [['login'], 'did you mean petstore auth login?'],
  [['list'], 'did you mean petstore categories list?'],
  [['categories'], 'error: missing subcommand after `petstore categories`\nhint: use one of list, create, import'],
  [['categories', 'list', '-p', 'prodution'], 'did you mean production?'],
])('petstore %j is wrong usage that says what was meant', async (args, words) => {
  const { code, out, err } = await inProcess(args);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain(words);
});

test.each([
  [['sk_canary_0123456789']],
  [['--key=sk_canary_0123456789', 'categories', 'list']],
  [['auth', 'login', 'sk_canary_0123456789']],
  [['auth', 'login', '--key', 'sk_canary_0123456789']],
  [['categories', 'list', '--sk_canary_0123456789']],
  [['-p', 'sk_canary_0123456789', 'categories', 'list']],
  [['categories', 'list', '--format', 'sk_canary_0123456789']],
  [['auth', 'switch', 'sk_canary_0123456789']],
  [['complete', 'sk_canary_0123456789']],
  [['api', 'sk_canary_0123456789', '/x']],
  [['api', 'GET', 'sk_canary_0123456789']],
  [['categories', 'list', '--max-wait', 'sk_canary_0123456789']],
])('a key typed in the wrong place is not repeated: %j', async (args) => {
  const { code, out, err } = await inProcess(args);
  expect(code).toBe(2);
  expect(out + err).not.toContain('canary_0123456789');
});

test.each([
  [['auth', 'login', '--api-key=abc-defg-hij'], 'abc-defg', "unknown option '--api-key'"],
  [['auth', 'login', '--api-key=ab\ncdefg'], 'cdefg', "unknown option '--api-key'"],
  [['categories', 'create', '--token=ab=cd-efg'], 'cd-efg', "unknown option '--token'"],
  [['auth', 'switch', 'testkey-abcdefghijkl'], 'abcdefgh', 'available profiles: production'],
  [['auth', 'status', '-p', 'testkey-abcdefghijkl'], 'abcdefgh', 'available profiles: production'],
  [['auth', 'status', '-ptestkey-abcdefghijkl'], 'abcdefgh', 'available profiles: production'],
  [['auth', 'login', '-p', 'testkey-abcdefghijkl'], 'abcdefgh', 'auth login -p PROFILE --url'],
  [['auth', 'switch', 'abcdefghijklmnop'], 'abcdefgh', 'available profiles: production'],
  [['abcdefghijklmnop'], 'abcdefgh', 'unknown command'],
  [['categories', 'list', '-kabcdefghijklmnop'], 'abcdefgh', 'unknown option'],
  [['categories', 'list', '-ksk_live_ab12'], 'ab12', 'unknown option'],
  [['categories', 'list', '--sort=abcdefghijklmnop'], 'abcdefgh', 'id, name'],
  [['auth', 'login', '--url', 'https://sk_live_abcd1234efgh5678'], 'abcd1234', 'https://HOST/v1'],
  [['auth', 'login', '--url', 'https://SK_LIVE_ABCD1234'], 'abcd1234', 'https://HOST/v1'],
  [['auth', 'login', '--url', 'https://api.example/testkey-abcdefghijkl'], 'abcdefgh', 'https://HOST/v1'],
  [['auth', 'login', '--url', 'https://abcd1234efgh5678'], 'abcd1234', 'https://HOST/v1'],
  [['categories', 'import', 'keys/sk_live_abcd1234'], 'abcd1234', 'keys/[redacted]'],
  [['Bearer abcdef0123456789abcd'], 'abcdef01', 'unknown command'],
  [['key:abcdef0123456789abcd'], 'abcdef01', 'key:[redacted]'],
  [['-p', '"abcdef0123456789abcd"', 'categories', 'list'], 'abcdef01', 'is not a valid profile name'],
  [['sandbox', '--seed', 'k'.repeat(70)], 'kkkk', '--seed cannot be that'],
])('of %j the key is not repeated, and the rest is said', async (args, key, words) => {
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
  [['categories', 'list', '--serch=cats'], 'did you mean --search?'],
])('of %j nothing is a key, and all is said', async (args, words) => {
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
])('an argument that would act on the terminal is shown: %j', async (...args) => {
  for (const more of [[], ['--json']]) {
    const { code, out, err } = await inProcess([...more, ...args], { columns: 80, env: { NO_COLOR: '1' } });
    expect(code).toBe(2);
    expect(out + err).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  }
});

test('commands --json is the whole tree, with options, exit codes and environment', async () => {
  const { code, out } = await inProcess(['commands', '--json']);
  expect(code).toBe(0);
  const told = JSON.parse(out);
  expect(told.commands.map(({ path }: { path: string }) => `petstore ${path}`)).toEqual(leaves.map(nameOf));
  expect(told.globalOptions.map(({ long }: { long: string }) => long)).toEqual(
    expect.arrayContaining(['--profile', '--json', '--max-wait', '--max-retries', '--timeout', '--quiet', '--verbose']),
  );
  expect(told.exitCodes.map(({ code }: { code: number }) => code)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 130, 143]);
  expect(JSON.stringify(told)).not.toContain('__complete');
});

test('the manual page and the reference name every command and every option', () => {
  const man = toMan(root, '1.2.3');
  const markdown = toMarkdown(root);
  for (const node of leaves) {
    expect(markdown).toContain(`## ${nameOf(node)}\n`);
    expect(man).toContain(`.SS ${node.usage.replaceAll('-', '\\-')}`);
    for (const option of node.options) {
      expect(markdown).toContain(option.flags);
      expect(man).toContain(`.B ${option.flags.replaceAll('-', '\\-')}`);
    }
  }
  // A line that begins with a dot or a quote and is no macro of ours would vanish.
  const macros = /^\.(?:TH|SH|SS|TP|PP|B|I|RI|nf|fi|RS|RE)(?: |$)/;
  expect(man.split('\n').filter((line) => /^[.']/.test(line) && !macros.test(line))).toEqual([]);
});

const DEFAULTS: Readonly<Record<string, string>> = {
  'petstore --max-wait': '2m',
  'petstore --max-retries': '4',
  'petstore --timeout': '30s',
  'petstore categories list --format': 'table',
  'petstore categories import --concurrency': '8',
  'petstore sandbox --port': '4010',
  'petstore sandbox --plan': 'free',
  'petstore sandbox --retry-after': 'seconds',
};

test('every default is told as data, and so is what must be given', async () => {
  const told = JSON.parse((await inProcess(['commands', '--json'])).out);
  const options = [{ path: '', options: told.globalOptions }, ...told.commands].flatMap(({ path, options }) =>
    options.map((one: { long: string; default?: string; required: boolean }) => ({
      ...one,
      name: `petstore ${path} ${one.long}`.replace('  ', ' '),
    })),
  );
  const defaults = options.filter((one) => 'default' in one).map((one) => [one.name, one.default]);
  expect(Object.fromEntries(defaults)).toEqual(DEFAULTS);
  expect(options.filter(({ required }) => required).map(({ name }) => name)).toEqual([
    'petstore categories create --name',
  ]);
});

test('help, the manual page and the reference say the same of an option: required, choices, default', async () => {
  const man = toMan(root, '1.2.3').replaceAll('\\-', '-');
  const markdown = toMarkdown(root).replaceAll('\\', '');
  for (const [name, value] of [...Object.entries(DEFAULTS), ['petstore categories create --name', 'required']]) {
    const [, words = '', long = ''] = /^petstore ?(.*) (--\S+)$/.exec(name ?? '') ?? [];
    const option = all
      .find((node) => nameOf(node) === `petstore ${words}`.trim())
      ?.options.find((o) => o.long === long);
    const fact = value === 'required' ? /[(;] ?required\)/ : new RegExp(`[(;] ?default: ${value}\\)`);
    const help = (await inProcess([...words.split(' ').filter(Boolean), '--help'], { columns: 100 })).out;
    const flags = option?.flags ?? 'none';
    expect(help.replace(/\s+/g, ' ').split(` ${flags} `)[1]?.split(' --')[0]).toMatch(fact);
    expect(man.split('\n')).toContainEqual(expect.stringMatching(fact));
    expect(man.split(`.B ${flags}\n`)[1]?.split('\n')[0]).toMatch(fact);
    expect(markdown.split('\n').find((line) => line.startsWith(`| \`${flags}\``) && fact.test(line))).toBeDefined();
  }
});

test('the reference tells nothing that commands --json does not', async () => {
  const told = new Set(stringsOf(JSON.parse((await inProcess(['commands', '--json'])).out)));
  expect(told).toContain(root.description);
  for (const node of leaves) {
    const { path: _, commands: __, ...facts } = node;
    for (const text of stringsOf(facts)) expect(told).toContain(text);
  }
});

function stringsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsOf) : [];
}

const groff = spawnSync('groff', ['--version']).status === 0;

test(groff ? 'groff formats the manual page without a warning' : 'without groff here: the page ends its blocks', () => {
  const man = toMan(root, '1.2.3');
  const count = (macro: string): number => man.split('\n').filter((line) => line === macro).length;
  expect(count('.nf')).toBe(count('.fi'));
  expect(count('.RS')).toBe(count('.RE'));
  if (!groff) return;
  const file = join(place().dir, 'petstore.1');
  writeFileSync(file, man);
  const { stderr } = spawnSync('groff', ['-man', '-ww', '-Tutf8', file]);
  expect(stderr.toString()).toBe('');
  const page = execFileSync('groff', ['-man', '-Tascii', '-P-c', file])
    .toString()
    .replaceAll(/.\u0008/g, '');
  expect(page).toContain('petstore categories create --name dog');
});
