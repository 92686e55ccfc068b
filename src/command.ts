// Runs a command's action: opens the session, prints the result, reports the error and the quota. Also formats help texts.
import { Command } from 'commander';
import { PetstoreError, rephrase } from './errors.ts';
import type { Context } from './io.ts';
import { colorLevel } from './io.ts';
import { loadRenderer } from './output/render.ts';
import type { View } from './output/view.ts';
import { wrapParagraphs } from './output/wrap.ts';
import { reportError } from './report-error.ts';
import type { Session } from './session.ts';
import { openSession, readGlobalOptions } from './session.ts';

/** The sections below the options in a command's help. Paragraphs are wrapped, indented lines are not. */
interface HelpSections {
  readonly notes?: string;
  readonly output?: string;
  readonly exitCodes?: string;
  /** Command lines; a comment starts with two spaces and a `#`. */
  readonly examples: readonly string[];
}

/** A command with sections below the options in its help. */
export class PetstoreCommand extends Command {
  helpSections: HelpSections = { examples: [] };

  sections(sections: HelpSections): this {
    this.helpSections = sections;
    const examples = sections.examples.map((line) => `  $ ${line}`).join('\n');
    const text = [this.notes, `Examples:\n${examples}`].filter(Boolean).join('\n\n');
    return this.addHelpText('after', () => `\n${fill(this, text)}`);
  }

  /** The sections above the examples, not wrapped. */
  get notes(): string {
    const { notes, output, exitCodes } = this.helpSections;
    return [notes, output && `Output: ${output}`, exitCodes && `Exit codes: ${exitCodes}`].filter(Boolean).join('\n\n');
  }
}

/** The root command; subcommands get the process's Context from it. */
export class Program extends PetstoreCommand {
  readonly context: Context;
  /** Set by the command that ran. */
  exitCode = 0;

  constructor(context: Context) {
    super('petstore');
    this.context = context;
  }
}

export function rootOf(command: Command): Program {
  return command.parent ? rootOf(command.parent) : (command as Program);
}

/** The subcommand with this name or alias. */
export function subcommandNamed(parent: Command, word: string): Command | undefined {
  return parent.commands.find((one) => one.name() === word || one.aliases().includes(word));
}

/** The full name of a command, for example `petstore categories list`. */
export function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

/** A command's function and the view that prints the returned data; the function itself never prints. */
export interface Action<Options, Data> {
  readonly view: View<Data>;
  readonly run: Run<Options, Data>;
}

/** @param options under commander's names; a switch that was not given is absent */
type Run<Options, Data> = (session: Session, options: Options, ...args: string[]) => Promise<Data>;

type Handler = (this: Command) => Promise<void>;

/** Returns a handler for `Command.action`. */
export function action<Options, Data>(view: View<Data>, run: Run<Options, Data>): Handler {
  return lazyAction(async () => ({ view, run }));
}

/** Like `action`, for a command whose code is loaded only when it runs. */
export function lazyAction<Options, Data>(load: (command: Command) => Promise<Action<Options, Data>>): Handler {
  return async function handle(this: Command) {
    const program = rootOf(this);
    const { context } = program;
    const session = openSession(context, readGlobalOptions(this.optsWithGlobals(), context.env));
    const { view, run } = await load(this);
    // Load the printer first: a create must not be sent if its result cannot be printed.
    const print = await loadPrinter(session, view);
    let failure: unknown;
    try {
      const data = await run(session, this.opts() as Options, ...this.args).finally(() => session.progress.stop());
      await print(data).catch((error: unknown) => {
        if (!(error instanceof PetstoreError) || !view.summary) throw error;
        throw rephrase(error, `${error.message}; ${view.summary(data)}`);
      });
      failure = view.failure?.(data);
    } catch (error) {
      failure = error;
    }
    if (failure !== undefined) program.exitCode = await reportError(failure, context, session.options);
    await printQuotaLine(session, failure);
  };
}

export async function loadPrinter<Data>(session: Session, view: View<Data>): Promise<(data: Data) => Promise<void>> {
  const { stdout, env, clock } = session.context;
  const render = await loadRenderer(session.options.format ?? 'table', view, {
    isTTY: stdout.isTTY,
    columns: stdout.columns,
    colorLevel: colorLevel(stdout, env, session.options.noColor),
    now: clock.now,
  });
  return async (data) => {
    for (const piece of render(data)) await stdout.write(piece);
  };
}

// Prints the quota only if this command received a response; `petstore quota` shows older values.
async function printQuotaLine(session: Session, failure: unknown): Promise<void> {
  const { options, context, usedLedger } = session;
  // The line would overwrite a pager's screen, and after a 401 it would not describe a valid key.
  const isPaged = context.stderr.isTTY && !context.stdout.isTTY;
  const isRejected = failure instanceof PetstoreError && failure.status === 401;
  if (!usedLedger || options.json || options.quiet || isPaged || isRejected) return;
  const { ledger, since } = usedLedger;
  await ledger.refresh();
  const view = ledger.view();
  if (view.seenAt === undefined || view.seenAt < since) return;
  const { quotaLine } = await import('./rate-limit/quota-view.ts');
  const line = quotaLine(view, context.clock.now());
  if (line !== undefined) await session.notice(line);
}

/** Wraps a text to the width of a command's help, and makes its headings bold. */
export function fill(command: Command, text: string): string {
  const width = command.configureOutput().getOutHelpWidth?.() ?? 80;
  return wrapParagraphs(text, width).replace(/^(?:Output|Exit codes|Examples|Global options):/gm, bold);
}

/** Commander strips the escape codes if the stream has no color. */
export function bold(text: string): string {
  return `\u001b[1m${text}\u001b[22m`;
}
