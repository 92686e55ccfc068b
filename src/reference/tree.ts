// The command tree as plain data, read from commander: what completion, `commands`, the man page and the reference share.
import type { Argument, Command, Option } from 'commander';
import { defaultOf } from './facts.ts';

/** An argument of a command. */
export interface ArgumentNode {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  readonly variadic: boolean;
  readonly choices?: readonly string[];
}

/** An option of a command. */
export interface OptionNode {
  /** As help shows it: `-p, --profile <name>`. */
  readonly flags: string;
  readonly short?: string;
  readonly long?: string;
  readonly description: string;
  /** The name of its value; without it the option is a switch. */
  readonly value?: string;
  readonly required: boolean;
  readonly repeatable: boolean;
  readonly choices?: readonly string[];
  /** What counts where it is not given, as it would be typed. */
  readonly default?: string;
}

/** A command and all below it. */
export interface CommandNode {
  /** From the root on: `['petstore', 'categories', 'list']`. */
  readonly path: readonly string[];
  readonly aliases: readonly string[];
  readonly description: string;
  /** One line of how it is called. */
  readonly usage: string;
  readonly arguments: readonly ArgumentNode[];
  readonly options: readonly OptionNode[];
  /** Context, output and exit codes, as help tells them; without the examples. */
  readonly notes: string;
  /** Command lines, each as it may be typed. */
  readonly examples: readonly string[];
  readonly commands: readonly CommandNode[];
}

/**
 * Reads the tree. Hidden commands and options are left out.
 * @param command the root, or any command
 * @returns it and everything below it as data
 */
export function describe(command: Command): CommandNode {
  const path = pathOf(command);
  const help = command.createHelp();
  const { notes, examples } = helpTextOf(command);
  return {
    path,
    aliases: command.aliases(),
    description: command.description(),
    usage: `${path.join(' ')} ${command.usage()}`.trim(),
    arguments: command.registeredArguments.map(argument),
    options: command.options.filter((one) => !one.hidden).map(option),
    notes,
    examples,
    commands: help
      .visibleCommands(command)
      // Commander makes its own help command on the fly; ours is in the tree.
      .filter((child) => command.commands.includes(child))
      .map(describe),
  };
}

/** @returns every command of a tree, the root first */
export function* everyCommand(node: CommandNode): Generator<CommandNode> {
  yield node;
  for (const child of node.commands) yield* everyCommand(child);
}

function pathOf(command: Command): readonly string[] {
  return command.parent ? [...pathOf(command.parent), command.name()] : [command.name()];
}

function argument(one: Argument): ArgumentNode {
  return {
    name: one.name(),
    description: one.description,
    required: one.required,
    variadic: one.variadic,
    ...(one.argChoices ? { choices: one.argChoices } : {}),
  };
}

function option(one: Option): OptionNode {
  const value = /[<[]([^>\]]+)[>\]]/.exec(one.flags)?.[1]?.replace(/\.\.\.$/, '');
  return {
    flags: one.flags,
    ...(one.short ? { short: one.short } : {}),
    ...(one.long ? { long: one.long } : {}),
    description: one.description,
    ...(value ? { value } : {}),
    required: one.mandatory,
    repeatable: one.variadic || /\brepeatable\b/.test(one.description),
    ...(one.argChoices ? { choices: one.argChoices } : {}),
    ...defaultOf(one),
  };
}

/**
 * Collects what `addHelpText('after', ...)` was given: commander hands it to whoever emits the event that help emits.
 * @param command any command
 * @returns the text, ending in a line break; empty where there is none
 */
export function afterText(command: Command): string {
  let text = '';
  const write = (part: string): void => {
    text += part;
  };
  (command as unknown as NodeJS.EventEmitter).emit('afterHelp', { error: false, command, write });
  return text;
}

function helpTextOf(command: Command): { notes: string; examples: readonly string[] } {
  const text = afterText(command);
  const at = text.search(/^Examples:$/m);
  const examples = at < 0 ? [] : [...text.slice(at).matchAll(/^ {2}\$ (.*)$/gm)].map((match) => match[1] ?? '');
  return { notes: (at < 0 ? text : text.slice(0, at)).trim(), examples };
}
