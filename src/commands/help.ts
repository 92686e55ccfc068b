// How help looks, `petstore help COMMAND`, and what a bare `petstore` prints.
import type { Command, Option } from 'commander';
import { Argument, Help } from 'commander';
import { closestMatch } from '../did-you-mean.ts';
import { PetstoreError } from '../errors.ts';
import { defineCommand } from './command.ts';
import type { DefinedCommand } from './commands.ts';
import { defaultOf, describeCommands, rootOf, visibleCommands } from './commands.ts';

const WELCOME = `petstore is a command-line client for the pet store API.

Try it without an account, on a local sandbox:
  $ petstore categories create --name dog -p sandbox
  $ petstore categories list -p sandbox

Use it with your API key:
  $ petstore auth login --url https://HOST/v1
  $ petstore categories list

More:
  $ petstore help                     all commands
  $ petstore help categories create   one command, with examples
  $ petstore doctor                   diagnose problems
`;

/** Returns what a bare `petstore` prints, fitted to a width. */
export function welcome(width: number): string {
  const help = new PetstoreHelp();
  const remark = /^( {2}\$ .*?) {2,}(\S.*)$/gm;
  const narrow = WELCOME.match(remark)?.some((line) => line.length > width);
  return help.fill(narrow ? WELCOME.replace(remark, `$1\n${INDENT}$2`) : WELCOME, width);
}

/** Width of help texts in cells: wide enough for an option, not too wide to read. */
export function helpWidth(columns: number | undefined): number {
  return Math.max(40, Math.min(100, columns || 80));
}

/** Narrower than this, a description stands below its term instead of beside it; in cells. */
const NARROW = 70;
const INDENT = '      ';

/** Commander's help, with what a definition says after the options. */
export class PetstoreHelp extends Help {
  override minWidthToWrap = 20;

  override styleTitle(title: string): string {
    return bold(title);
  }

  override subcommandTerm(command: Command): string {
    const names = [command.name(), ...command.aliases()].join(', ');
    return [names, ...command.registeredArguments.map((one) => this.argumentTerm(one))].join(' ');
  }

  override argumentTerm(argument: Argument): string {
    return argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
  }

  override optionDescription(option: Option): string {
    const { description, mandatory, argChoices } = option;
    const value = defaultOf(option);
    const facts = [
      ...(mandatory ? ['required'] : []),
      ...(argChoices ? [argChoices.join(', ')] : []),
      ...(value === undefined ? [] : [`default: ${value}`]),
    ];
    if (facts.length === 0) return description;
    const [text, open] = description.endsWith(')') ? [description.slice(0, -1), '; '] : [description, ' ('];
    return `${text}${open}${facts.join('; ')})`;
  }

  override formatItem(term: string, termWidth: number, description: string, helper: Help): string {
    const width = helper.helpWidth ?? 80;
    const indent = width < NARROW ? INDENT : ' '.repeat(termWidth + 4);
    const text = this.boxWrap(description, width - indent.length).replaceAll('\n', `\n${indent}`);
    return width < NARROW ? `  ${term}\n${indent}${text}` : `  ${term.padEnd(termWidth)}  ${text}`;
  }

  override formatHelp(command: Command, helper: Help): string {
    const { notes, output, exitCodes, examples } = (command as DefinedCommand).definition.help;
    const options = rootOf(command).options.filter(({ hidden }) => !hidden);
    const paragraphs = [
      notes,
      output && `${bold('Output:')} ${output}`,
      exitCodes && `${bold('Exit codes:')} ${exitCodes}`,
      command.parent &&
        `${bold('Global options:')} ${options.map(({ long }) => long).join(', ')}; see petstore --help.`,
      `${bold('Examples:')}\n${examples.map((line) => `  $ ${line}`).join('\n')}`,
    ];
    const after = paragraphs.filter((text) => text !== undefined && text !== null);
    const width = helper.helpWidth ?? 80;
    return `${super.formatHelp(command, helper)}\n${after.map((text) => `${this.fill(text, width)}\n`).join('\n')}`;
  }

  /** Wraps paragraphs and the lines of lists; examples stay as they are. */
  fill(text: string, width: number): string {
    const list = text.replace(/^ {2}(?!\$)(\S.*)$/gm, (line, item: string) =>
      line.length <= width ? line : `  ${this.boxWrap(item, width - 4).replaceAll('\n', '\n    ')}`,
    );
    return list.replace(/^\S.*(?:\n\S.*)*/gm, (paragraph) => this.boxWrap(paragraph.replaceAll('\n', ' '), width));
  }
}

function bold(text: string): string {
  return `\u001b[1m${text}\u001b[22m`;
}

export const help = defineCommand<object, Command>({
  name: 'help',
  description: 'show the help of a command',
  arguments: [new Argument('[command...]', 'for example: categories create')],
  help: {
    output: 'what the command prints with --help; with --json the same as data.',
    examples: ['petstore help', 'petstore help categories create'],
  },
  action: {
    run: async (_session, { args, command }) => args.reduce(subcommandOf, rootOf(command) as Command),
    view: {
      json: (command) => describeCommands(command, rootOf(command).version() ?? ''),
      text: (command) => [command.helpInformation()],
    },
  },
});

function subcommandOf(parent: Command, word: string): Command {
  const found = parent.commands.find((one) => one.name() === word || one.aliases().includes(word));
  if (found) return found;
  const names = visibleCommands(parent).map((one) => one.name());
  const near = closestMatch(word, names);
  // The word is not repeated: it may be a key.
  throw new PetstoreError('usage', `\`${parent.name()}\` has no such command`, {
    hint: near ? `did you mean \`${near}\`?` : `see \`petstore ${parent.parent ? `${parent.name()} ` : ''}--help\``,
  });
}
