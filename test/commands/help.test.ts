// Help: descriptions, valid examples, line widths, the reference as JSON, and the manual page.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { commandPath } from '../../src/command.ts';
import { describeCommands } from '../../src/commands/help.ts';
import { createProgram } from '../../src/program.ts';
import { BIN } from '../support/program.ts';
import { inProcess, world } from '../support/world.ts';

/** All visible commands. */
const COMMANDS =
  `categories list, categories get, categories create, categories import, api, auth login, auth logout, auth status,
 auth switch, quota, doctor, sandbox, completion`.split(/,\s+/);
const GLOBAL_NAMES = '--profile --json --max-wait --max-retries --timeout --quiet --verbose --no-color'.split(' ');

const reference = describeCommands(createProgram(world([])));
const all = allOf(createProgram(world([])));

function allOf(command: Command): Command[] {
  return [command, ...command.createHelp().visibleCommands(command).flatMap(allOf)];
}

test('the reference lists every command, global option and exit code', () => {
  expect(reference.commands.map(({ path }) => path)).toEqual(COMMANDS);
  expect(reference.globalOptions.map(({ flags }) => /--[\w-]+/.exec(flags)?.[0])).toEqual(GLOBAL_NAMES);
  expect(reference.exitCodes.map(({ code }) => code)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 130]);
});

test.each(reference.commands.map((command) => [command.path, command] as const))(
  'the help of `%s` describes the command and its output, with at least two examples',
  (path, { description, output, examples }) => {
    expect(description).not.toBe('');
    expect(examples.filter((line) => line.includes(`petstore ${path}`)).length).toBeGreaterThanOrEqual(2);
    expect(output).not.toBe('');
  },
);

// Splits an example like a shell: removes quotes, and keeps only the petstore command of a pipeline.
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
  const args = argumentsOf(example);
  if (args.includes('--help')) return expect((await inProcess(args)).code).toBe(0);
  await fresh.parseAsync(args, { from: 'user' });
  return expect(ran).not.toBe('');
});

test.each([40, 80])('no line of help is wider than %i columns, apart from usage and examples', async (columns) => {
  for (const command of all) {
    const { code, out } = await inProcess([...commandPath(command).split(' ').slice(1), '--help'], { columns });
    expect(code).toBe(0);
    const wide = stripVTControlCharacters(out)
      .split('\n')
      .filter((line) => line.length > columns && !/^(?: +\$|Usage:)/.test(line));
    expect(wide, commandPath(command)).toEqual([]);
  }
});

test('the help of a subcommand names the global options in at most two lines, and petstore --help explains them', async () => {
  const { out } = await inProcess(['categories', 'create', '--help']);
  const [, named = ''] = /^Global options: (.*(?:\n.+)?); see `petstore --help`\.\n$/m.exec(out) ?? [];
  expect(named.split(/,\s/)).toEqual(GLOBAL_NAMES);
  expect(out).not.toContain('longest wait');
  const root = (await inProcess(['--help'])).out;
  expect(root).toContain('longest wait for the rate limit');
  expect(root.indexOf('Categories:')).toBeLessThan(root.indexOf('Global options:'));
});

test('`petstore help COMMAND` prints the same text as `COMMAND --help`, also for an alias and without a command', async () => {
  const help = async (...args: string[]) => (await inProcess(args)).out;
  expect(await help('categories', 'list', '--help')).toContain('Usage: petstore categories list');
  expect(await help('help', 'categories', 'ls')).toBe(await help('categories', 'list', '--help'));
  expect(await help()).toBe(await help('--help'));
});

test.each([
  [['--help', '--json'], COMMANDS],
  [['categories', '--help', '--json'], COMMANDS.filter((path) => path.startsWith('categories '))],
  [['--json', 'categories', 'ls', '--search', 'x', '--help'], ['categories list']],
  [['help', 'categories', 'create', '--format=json'], ['categories create']],
])('`petstore %j` prints the reference of %j as JSON', async (args, paths) => {
  const { code, out, err } = await inProcess(args);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const commands = reference.commands.filter(({ path }) => paths.includes(path));
  expect(JSON.parse(out)).toEqual(JSON.parse(JSON.stringify({ ...reference, commands })));
});

test('`petstore --format json categories -V` prints one JSON document', async () => {
  const run = await inProcess('--format json categories -V'.split(' '));
  expect(run).toEqual({ code: 0, out: '{"version":"1.0.0"}\n', err: '' });
});

test('exit codes in the help of a command have the wording of the reference, one code a line', async () => {
  const { out } = await inProcess(['categories', 'create', '--help'], { columns: 40 });
  const [, list = ''] = /Exit codes:\n((?: {2}.*\n)+)/.exec(stripVTControlCharacters(out)) ?? [];
  expect(list.match(/^ {2}\d+/gm)).toEqual(['  2', '  3', '  4', '  5', '  6', '  7', '  8', '  9', '  130']);
  const { meaning } = reference.exitCodes.find(({ code }) => code === 3) ?? {};
  expect(list.replace(/\s+/g, ' ')).toContain(`3 ${meaning} 4`);
});

test('the headings of help are bold on a terminal with color and plain otherwise', async () => {
  expect((await inProcess(['--help'], { columns: 80 })).out).toContain('\u001b[1mUsage:\u001b[22m');
  expect((await inProcess(['--help', '--no-color'], { columns: 80 })).out).not.toContain('\u001b');
});

test.each([120, 80])('`petstore` alone fits 45 rows of %i columns', async (columns) => {
  const { code, out } = await inProcess([], { columns });
  expect([code, out.split('\n').length <= 45]).toEqual([0, true]);
});

test.each([
  ['exit-codes', 'exitCodes', '  5    rate limited: the wait'],
  ['environment', 'environment', '  PETSTORE_API_KEY          API key; overrides'],
] as const)('`petstore help %s` prints the topic, also as JSON', async (topic, field, text) => {
  expect((await inProcess(['help', topic])).out).toContain(text);
  const { out } = await inProcess(['help', topic, '--json']);
  expect(JSON.parse(out)).toEqual({ [field]: JSON.parse(JSON.stringify(reference[field])) });
});

test.each([
  ['categories list', '--format <format>', '(choices: "table", "json", "ndjson", "csv", "tsv", default: table)'],
  ['categories create', '--name <name>', '(required)'],
  ['sandbox', '--port <number>', '(default: 4010)'],
])('the help of `petstore %s` describes %s with %s', async (path, flags, facts) => {
  const { out } = await inProcess([...path.split(' ').filter(Boolean), '--help'], { columns: 100 });
  const [described = ''] = out.replace(/\s+/g, ' ').split(` ${flags} `)[1]?.split(/ -+\w/) ?? [];
  expect(described.endsWith(facts), described).toBe(true);
});

test('the manual page names every command, option and example', () => {
  const page = readFileSync(join(BIN, '../../dist/petstore.1'), 'utf8').replaceAll(/\\f\w|\\(?=[^\w])/g, '');
  const texts = reference.commands.flatMap(({ usage, options, examples }) => [
    usage.replace(' [options]', ''),
    ...options.map((option) => option.flags),
    ...examples,
  ]);
  expect(texts.filter((text) => !page.includes(text))).toEqual([]);
});
