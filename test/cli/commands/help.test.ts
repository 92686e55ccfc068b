// Help: descriptions, valid examples, line widths and the reference as JSON.
import { stripVTControlCharacters } from 'node:util';
import type { Command } from 'commander';
import parseArgv from 'string-argv';
import { expect, test } from 'vitest';
import { commandPath } from '../../../src/cli/command.ts';
import { describeCommands } from '../../../src/cli/commands/help.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { inProcess, world } from '../../support/world.ts';

const GLOBAL_NAMES = '--profile --json --max-wait --max-retries --timeout --quiet --verbose --no-color'.split(' ');

const reference = describeCommands(createProgram(world([])));
const all = allOf(createProgram(world([])));

function allOf(command: Command): Command[] {
  return [command, ...command.createHelp().visibleCommands(command).flatMap(allOf)];
}

test.each(reference.commands.map((command) => [command.path, command] as const))(
  'the help of `petstore %s` describes the command and its output, and shows at least two examples',
  (path, { description, output, examples }) => {
    expect(description).not.toBe('');
    expect(examples.filter((line) => line.includes(`petstore ${path}`)).length).toBeGreaterThanOrEqual(2);
    expect(output).not.toBe('');
  },
);

/** The arguments of the petstore command in an example, even inside a pipeline. */
function argumentsOf(example: string): string[] {
  const [, line = ''] = /(?:^|\| |\$\()petstore ((?:'[^']*'|"[^"]*"|[^|<>#)])*)/.exec(example) ?? [];
  return parseArgv(line);
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

test.each([
  [40, 40],
  [80, 80],
  [200, 100],
])('at %i columns, no line of help has more than %i characters', async (columns, widest) => {
  for (const command of all) {
    const { code, out } = await inProcess([...commandPath(command).split(' ').slice(1), '--help'], { columns });
    expect(code).toBe(0);
    const wide = stripVTControlCharacters(out)
      .split('\n')
      .filter((line) => line.length > widest);
    expect(wide, commandPath(command)).toEqual([]);
  }
});

test('the help of a subcommand names the global options in at most two lines, and `petstore --help` explains them', async () => {
  const { out } = await inProcess(['categories', 'create', '--help']);
  const [, named = ''] = /^Global options: (.*(?:\n.+)?); see `petstore --help`\.\n$/m.exec(out) ?? [];
  expect(named.split(/,\s/)).toEqual(GLOBAL_NAMES);
  expect(out).not.toContain('longest wait');
  const root = (await inProcess(['--help'])).out;
  expect(root).toContain('longest wait for the rate limit');
  expect(root.indexOf('Categories:')).toBeLessThan(root.indexOf('Global options:'));
});

test('`petstore help` resolves an alias, and `petstore` prints the same text as `petstore --help`', async () => {
  const help = async (...args: string[]) => (await inProcess(args)).out;
  expect(await help('categories', 'list', '--help')).toContain('Usage: petstore categories list');
  expect(await help('help', 'categories', 'ls')).toBe(await help('categories', 'list', '--help'));
  expect(await help()).toBe(await help('--help'));
});

test.each([
  ['--help --json', 'all commands', ''],
  ['categories --help --json', 'the group `categories`', 'categories '],
  ['--json categories ls --search x --help', '`categories list`', 'categories list'],
  ['help categories create --format=json', '`categories create`', 'categories create'],
])('`petstore %s` prints the reference of %s as JSON', async (line, _what, prefix) => {
  const { code, out, err } = await inProcess(line.split(' '));
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const commands = reference.commands.filter(({ path }) => path.startsWith(prefix));
  expect(JSON.parse(out)).toEqual(JSON.parse(JSON.stringify({ ...reference, commands })));
});

test('the help of a command shows its alias, and its exit codes in one line after the examples', async () => {
  const { out } = await inProcess(['categories', 'list', '--help']);
  expect(out).toContain('\n\nAlias: ls\n\n');
  expect(out).toContain(
    'categories.csv\n\nExit codes: 0, 2, 3, 4, 5, 6, 7, 9, 130; see `petstore help exit-codes`.\n\n',
  );
});

test('an example is wrapped between words in a narrow terminal, so that it can be copied', async () => {
  for (const { path, examples: lines } of reference.commands) {
    const { out } = await inProcess([...path.split(' '), '--help'], { columns: 40 });
    const unwrapped = stripVTControlCharacters(out)
      .replaceAll(/ \\\n +/g, ' ')
      .replaceAll(/\n +# /g, '  # ');
    for (const line of lines) expect(unwrapped).toContain(`\n  $ ${line}\n`);
  }
});

test('the headings of help are bold on a terminal, but not with `--no-color`', async () => {
  expect((await inProcess(['--help'], { columns: 80 })).out).toContain('\u001b[1mUsage:\u001b[22m');
  expect((await inProcess(['--help', '--no-color'], { columns: 80 })).out).not.toContain('\u001b');
});

test.each([120, 80])('the output of `petstore` without a command fits 45 rows of %i columns', async (columns) => {
  const { code, out } = await inProcess([], { columns });
  expect([code, out.split('\n').length <= 45]).toEqual([0, true]);
});

test.each([
  ['exit-codes', 'exitCodes', '  5    rate limited: the wait'],
  ['environment', 'environment', '  PETSTORE_API_KEY          API key; overrides'],
] as const)('`petstore help %s` prints the topic as text, or with `--json` as JSON', async (topic, field, text) => {
  expect((await inProcess(['help', topic])).out).toContain(text);
  const { out } = await inProcess(['help', topic, '--json']);
  expect(JSON.parse(out)).toEqual({ [field]: JSON.parse(JSON.stringify(reference[field])) });
});

test('the help of an option shows its choices and its default', async () => {
  const { out } = await inProcess(['categories', 'list', '--help']);
  expect(out.replace(/\s+/g, ' ')).toContain('(choices: "table", "json", "ndjson", "csv", "tsv", default: table)');
});
