// What a command consists of: a definition, always loaded, and an action, loaded when it runs.
import type { Argument, Command, Option } from 'commander';
import type { PetstoreError } from '../errors.ts';
import type { View } from '../output/view.ts';
import type { Session } from '../session.ts';

/** What follows the options in a command's help. Paragraphs are wrapped; indented lines stay as they are. */
export interface HelpText {
  readonly notes?: string;
  readonly output?: string;
  readonly exitCodes?: string;
  /** Command lines; two spaces and a `#` begin a remark. */
  readonly examples: readonly string[];
}

/** What the user typed. */
interface CommandInput<Options> {
  readonly args: readonly string[];
  /** Named as commander names them: `--if-missing` is `ifMissing`; a switch that is not given is absent. */
  readonly options: Options;
  /** Commander's command, for the few that show or search the tree. */
  readonly command: Command;
}

/** What a command does, and how its result is shown. */
export interface Action<Options = unknown, Data = unknown> {
  run(session: Session, input: CommandInput<Options>): Promise<Data>;
  readonly view: View<Data>;
  /** The error to end with although the result was printed. */
  exitError?(data: Data): PetstoreError | undefined;
  /** What has changed, for the error message when the result cannot be printed. */
  summary?(data: Data): string;
}

/** One command. */
export interface CommandDefinition<Options = unknown, Data = unknown> {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly description: string;
  readonly hidden?: boolean;
  readonly arguments?: readonly Argument[];
  readonly options?: readonly Option[];
  readonly help: HelpText;
  /** The action itself, or a function that loads it when it needs much code. */
  readonly action: Action<Options, Data> | (() => Promise<Action<Options, Data>>);
}

/** Commands with a common first word. */
export interface CommandGroup {
  readonly name: string;
  readonly description: string;
  readonly options?: readonly Option[];
  readonly help: HelpText;
  readonly commands: readonly (CommandGroup | CommandDefinition)[];
}

/** Checks a definition's types against each other. */
export function defineCommand<Options, Data>(definition: CommandDefinition<Options, Data>): CommandDefinition {
  return definition;
}
