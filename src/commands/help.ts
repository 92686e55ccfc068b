// How help looks, `petstore help WORDS`, and what a bare `petstore` says. The texts themselves stand with their commands.
import type { Command, Help, Option } from 'commander';
import type { Output } from '../io.ts';
import { bold, helpWidth, reflow } from '../output/wrap.ts';
import { defaultOf, explained } from '../reference/facts.ts';
import { runCommand } from './run-command.ts';

/** Under which heading the root's help lists its commands. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'Categories:': ['categories', 'api'],
  'Keys and limits:': ['auth', 'quota', 'doctor'],
  'Trying out and scripting:': ['sandbox', 'complete', 'commands', 'help'],
};

const WELCOME = `petstore lists and creates the categories of the pet store service.

Try it out, without an account, on a sandbox of your own:
  $ petstore categories create --name dog -p sandbox
  $ petstore categories list -p sandbox

Use it with your API key:
  $ petstore auth login --url https://HOST/v1
  $ petstore categories list

More:
  $ petstore help                     all commands
  $ petstore help categories create   one command, with examples
  $ petstore doctor                   why it does not work
`;
const WITH_MEANING = /^( {2}\$ .*?) {2,}(\S.*)$/gm;

/**
 * What a bare `petstore` prints: what to do first.
 * @param width in cells
 * @returns text that fits, but for commands, which are to be copied; what one does stands below it where both are too wide
 */
export function welcome(width: number): string {
  const narrow = WELCOME.match(WITH_MEANING)?.some((line) => line.length > width);
  return reflow(narrow ? WELCOME.replace(WITH_MEANING, `$1\n${INDENT}$2`) : WELCOME, width);
}

/**
 * Gives help its looks, and adds `petstore help [command...]`. Called when all other commands are there.
 * @param program the root of the tree
 * @param stdout where help goes: it is fitted to it
 * @param color whether stdout carries colour
 * @param say takes what commander prints, and of which command, for whoever can wait until it is written
 */
export function addHelp(
  program: Command,
  stdout: Output,
  color: boolean,
  say: (text: string, command: Command) => void,
): void {
  addHelpCommand(program);
  addOverviews(program);
  const width = helpWidth(stdout.columns);
  for (const command of everyCommand(program)) {
    command.helpCommand(false);
    command.configureHelp({
      showGlobalOptions: true,
      minWidthToWrap: 20,
      formatItem,
      subcommandTerm,
      optionDescription,
    });
    command.configureOutput({
      writeOut: (text) => say(bold(reflow(text, width), color), command),
      getOutHelpWidth: () => width,
    });
  }
  for (const [heading, names] of Object.entries(GROUPS)) {
    for (const command of program.commands) if (names.includes(command.name())) command.helpGroup(heading);
  }
}

function* everyCommand(command: Command): Generator<Command> {
  yield command;
  for (const child of command.commands) yield* everyCommand(child);
}

function addHelpCommand(program: Command): void {
  const command = program
    .command('help')
    .description('show the help of a command')
    .argument('[command...]', 'for example: categories create')
    .addHelpText(
      'after',
      `
Output: what --help prints after the same words; with --json the same as data (see commands),
as --help --json prints it too.

Examples:
  $ petstore help
  $ petstore help categories create`,
    );
  runCommand(
    command,
    () => import('./help/show.ts'),
    (words) => ({ program, words }),
  );
}

// Nouns have no text of their own: what can be done with them is told by their commands.
const OVERVIEWS: Readonly<Record<string, string>> = {
  categories: `
Examples:
  $ petstore categories list --search cat
  $ petstore categories create --name dog --description "Canis familiaris"
  $ petstore categories import species.csv`,
  auth: `
Examples:
  $ petstore auth login -p staging
  $ petstore auth status`,
};

const ROOT_TEXT = `
The service limits how much one key may ask. petstore waits where it must, shares what is left with
other petstore processes, and never sends a create twice. stdout holds the answer and nothing else.

Exit codes: 0 done, 1 fault of petstore, 2 wrong usage, 3 no key or key refused, 4 request rejected,
5 rate limited, 6 not reached, 7 service failed, 8 outcome of a create unknown, 9 own files, 130
interrupted. Environment: PETSTORE_API_KEY and PETSTORE_BASE_URL go before what is stored.

Examples:
  $ petstore categories list -p sandbox
  $ petstore auth login --url https://HOST/v1
  $ petstore help categories create`;

function addOverviews(program: Command): void {
  program.addHelpText('after', ROOT_TEXT);
  for (const noun of program.commands) {
    const text = OVERVIEWS[noun.name()];
    if (text) noun.addHelpText('after', text);
  }
}

function subcommandTerm(command: Command): string {
  const names = [command.name(), ...command.aliases()].join(', ');
  return [
    names,
    ...command.registeredArguments.map((one) => (one.required ? `<${one.name()}>` : `[${one.name()}]`)),
  ].join(' ');
}

function optionDescription(this: Help, option: Option): string {
  const { description, mandatory, argChoices } = option;
  return explained({ description, required: mandatory, choices: argChoices, ...defaultOf(option) });
}

/** Narrower than this, a description stands below its term instead of beside it; in cells. */
const NARROW = 70;
const INDENT = '      ';

function formatItem(this: Help, term: string, termWidth: number, description: string, helper: Help): string {
  const width = helper.helpWidth ?? 80;
  if (description === '') return `  ${term}`;
  if (width < NARROW) return `  ${term}\n${indented(helper.boxWrap(description, width - INDENT.length), INDENT)}`;
  const beside = ' '.repeat(termWidth + 4);
  const wrapped = helper.boxWrap(description, width - beside.length);
  return `  ${term.padEnd(termWidth)}  ${wrapped.replaceAll('\n', `\n${beside}`)}`;
}

function indented(text: string, indent: string): string {
  return indent + text.replaceAll('\n', `\n${indent}`);
}
