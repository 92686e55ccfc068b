// Runs a command's action: opens the session, and prints the result and the quota line.
import { Command } from 'commander';
import type { ErrorKind } from '../errors.ts';
import { PetstoreError, rephrase } from '../errors.ts';
import type { Quota } from '../rate-limit/quota.ts';
import { windowIn } from '../rate-limit/quota.ts';
import { invalidValueError } from '../settings/check-options.ts';
import { formatChoices, formatDuration, formatRemaining } from '../text/format.ts';
import type { Context } from './context.ts';
import { checkGlobalOptions } from './global-options.ts';
import { loadRenderer } from './output/render.ts';
import type { View } from './output/view.ts';
import { usedProfileName } from './profiles/credentials.ts';
import { Session } from './session.ts';

/** The sections of a command's help that commander does not have. A line break within a paragraph counts as a space. */
interface HelpSections {
  readonly notes?: string;
  readonly output?: string;
  /** The kinds of error whose exit codes are listed. */
  readonly exitCodes?: readonly ErrorKind[];
  /** Command lines; a comment starts with two spaces and a `#`. */
  readonly examples: readonly string[];
}

export function collectValues(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}

// Checks choices after all options are read, so that a later --json determines the format of an error.
function checkChoices(command: Command): void {
  for (const option of command.options) {
    const { long = '', argChoices } = option;
    const value: unknown = command.getOptionValue(option.attributeName());
    if (typeof value !== 'string' || !argChoices || argChoices.includes(value)) continue;
    throw invalidValueError(value, long, `use ${formatChoices(argChoices)}`);
  }
}

/** A command whose help has more sections than commander's. */
export class PetstoreCommand extends Command {
  helpSections: HelpSections = { examples: [] };

  sections(sections: HelpSections): this {
    this.helpSections = sections;
    return this;
  }
}

/** The root command; subcommands get the process's Context from it. */
export class Program extends PetstoreCommand {
  readonly context: Context;

  constructor(context: Context) {
    super('petstore');
    this.context = context;
  }
}

export function rootOf(command: Command): Program {
  return command.parent ? rootOf(command.parent) : (command as Program);
}

/** The full name of a command, for example `petstore categories list`. */
export function commandPath(command: Command): string {
  return command.parent ? `${commandPath(command.parent)} ${command.name()}` : command.name();
}

/** The commands of a group, hidden ones excluded. */
export function subcommandsOf(group: Command): readonly Command[] {
  return group.createHelp().visibleCommands(group);
}

/** The command below the root that the words name, and the words after it. */
export function findCommand(root: Command, words: readonly string[]): { command: Command; rest: readonly string[] } {
  const [word = '', ...rest] = words;
  const child = root.commands.find((one) => one.name() === word || one.aliases().includes(word));
  return child ? findCommand(child, rest) : { command: root, rest: words };
}

/** A command's function, and the view that prints the data that it returns. */
export interface Action<Options, Data> {
  readonly view: View<Data>;
  /** @param options under commander's names; a switch that was not given is absent */
  run(session: Session, options: Options, ...args: string[]): Promise<Data>;
}

/** Returns a handler for `Command.action`, which loads the command's code when it runs. */
export function actionHandler<Options, Data>(load: (command: Command) => Promise<Action<Options, Data>>) {
  return async function handle(this: Command): Promise<void> {
    const program = rootOf(this);
    const { context } = program;
    const startedAt = context.clock.now();
    checkChoices(this);
    const session = new Session(context, checkGlobalOptions(program.opts(), context.env));
    const { view, run } = await load(this);
    // Load the printer first: a create must not be sent if its result cannot be printed.
    const print = await loadPrinter(session, view);
    let failure: unknown;
    try {
      const given = this.processedArgs.flat();
      const data = await run(session, this.opts() as Options, ...given).finally(() => session.progress.stop());
      const change = view.change?.(data);
      await print(data).catch((error: unknown) => {
        if (!(error instanceof PetstoreError) || !change) throw error;
        throw rephrase(error, `${error.message}; ${change}`);
      });
      if (change && context.stdout.isClosed) await session.warn(`the output was closed; ${change}`);
      failure = session.explain(view.failure?.(data));
    } catch (error) {
      failure = session.explain(error);
    }
    if (!view.showsQuota) await printQuotaLine(session, startedAt, failure);
    if (failure !== undefined) throw failure;
  };
}

export async function loadPrinter<Data>({ context, options }: Session, view: View<Data>) {
  const render = await loadRenderer(view, context, options);
  return async (data: Data): Promise<void> => {
    for (const piece of render(data)) await context.stdout.write(piece);
  };
}

// Prints the quota only if this command received a response; `petstore quota` shows older values.
async function printQuotaLine(session: Session, startedAt: number, failure: unknown): Promise<void> {
  const { options, context } = session;
  // The line would overwrite the screen of a pager; after a 401, it would describe an invalid key.
  const isPaged = context.stderr.isTTY && !context.stdout.isTTY;
  const isRejected = failure instanceof PetstoreError && failure.kind === 'auth';
  const { service, credentials } = session.lastUsed ?? {};
  if (options.json || options.quiet || isPaged || isRejected || !service) return;
  const quota = service.quota();
  if (quota.updatedAt === null || quota.updatedAt < startedAt) return;
  const line = formatQuotaLine(quota, context.clock.now(), credentials && usedProfileName(credentials));
  if (line !== undefined) await session.notice(line);
}

/**
 * The quota line printed after a command that received a response.
 * @param profile the profile whose base URL was used, if any
 * @returns for example `quota (staging): 57 of 60 left, resets in 43s`; undefined if unknown or after a 429
 */
export function formatQuotaLine(quota: Quota, now: number, profile?: string): string | undefined {
  // After a 429, the error or the progress states the wait.
  if (quota.blocked) return undefined;
  const subject = profile === undefined ? 'quota' : `quota (${profile})`;
  const nearest = windowIn(quota);
  const window = nearest?.resetPassed ? quota.dailyLimit : nearest;
  if (!window || window.remaining === null) return undefined;
  const left = formatRemaining(window.remaining, window.limit);
  return left === 'unlimited'
    ? `${subject}: ${left}`
    : `${subject}: ${left} left, resets in ${formatDuration(window.resetAt - now)}`;
}
