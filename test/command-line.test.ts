// The reader of command lines agrees with commander, which parses them.
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { readCommandLine } from '../src/command-line.ts';
import { createProgram } from '../src/program.ts';
import { world } from './support/world.ts';

function leavesOf(command: Command): readonly Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

/** What commander makes of the words: the options that were typed, by long name. */
async function parse(words: readonly string[]) {
  const program = createProgram(world([]));
  let found: object | undefined;
  for (const leaf of leavesOf(program)) {
    leaf.action(() => {
      const typed = [program, leaf].flatMap((one) =>
        one.options.flatMap((option) => {
          const name = option.attributeName();
          if (one.getOptionValueSource(name) !== 'cli') return [];
          return [[option.long, option.required ? String(one.getOptionValue(name)) : ''] as const];
        }),
      );
      found = { command: leaf.name(), options: Object.fromEntries(typed), operands: leaf.args };
    });
  }
  await program.parseAsync(words, { from: 'user' });
  return found;
}

test.each([
  'categories list',
  '-p staging categories ls --search x',
  '-pstaging -qv categories list',
  'categories --profile=staging list --search --sort',
  'categories list --search=',
  'categories create --name -- --description x',
  'categories create --name=-q -q',
  'categories import -y - --json',
  'categories import -- -y',
  'api GET -i categories --no-color',
  'api POST x -d{} -vi',
  'auth switch quota',
  '--format csv categories list',
])('`petstore %s` is read as commander parses it', async (line) => {
  const { command, options, unknown, operands, awaiting } = readCommandLine(createProgram(world([])), line.split(' '));
  const read = { command: command.name(), options: Object.fromEntries(options), operands };
  expect({ ...read, unknown, awaiting }).toEqual({
    ...(await parse(line.split(' '))),
    unknown: [],
    awaiting: undefined,
  });
});

test('a global option is never the value of an option of a command, as commander has it', async () => {
  const words = ['categories', 'list', '--search', '--json'];
  const { options, awaiting } = readCommandLine(createProgram(world([])), words);
  expect([[...options], awaiting?.long]).toEqual([[['--json', '']], '--search']);
  await expect(parse(words)).rejects.toMatchObject({ code: 'commander.optionMissingArgument' });
});
