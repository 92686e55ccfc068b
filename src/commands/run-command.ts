// From a commander action to a verb: load it, run it, have its data printed.
import type { Command } from 'commander';
import { PetstoreError } from '../errors.ts';
import type { View } from '../output/view.ts';
import type { Context, Session } from '../session.ts';
import { openSession, readGlobalOptions } from '../session.ts';
import { startProgress } from './command-progress.ts';
import { preloadRenderer, printQuotaLine, printResult } from './print-result.ts';

/** A verb's file: what it does, how its data is shown, and whether data that was printed is a failure all the same. */
export interface CommandModule<Input, Data> {
  run(session: Session, input: Input): Promise<Data>;
  readonly view: View<Data>;
  readonly exitError?: (data: Data, input: Input) => PetstoreError | undefined;
}

const contexts = new WeakMap<Command, Context>();

/**
 * @param program the root of the command tree
 * @param context the world its actions run in
 */
export function provide(program: Command, context: Context): void {
  contexts.set(program, context);
}

/**
 * Gives a command its verb; the verb's file is loaded only when the command runs.
 * @param command the definition
 * @param load imports the verb's file
 * @param toInput makes the verb's input from commander's arguments and options
 * @returns the same command
 */
export function runCommand<Input, Data>(
  command: Command,
  load: () => Promise<CommandModule<Input, Data>>,
  toInput: (args: readonly string[], options: Readonly<Record<string, unknown>>) => Input,
): Command {
  return command.action(async () => {
    const context = contextOf(command);
    const options = command.optsWithGlobals();
    const session = openSession(context, readGlobalOptions(options, context.env));
    const input = toInput(command.args, options);
    const since = context.clock.now();
    context.cleanups.unshift(() => printQuotaLine(session, since));
    const verb = await load();
    refuseFormat(session, verb.view);
    await preloadRenderer(session);
    const end = await startProgress(session);
    let data: Data;
    try {
      data = await verb.run(session, input);
    } finally {
      end();
    }
    await printResult(session, verb.view, data);
    const failure = verb.exitError?.(data, input);
    if (failure) throw failure;
  });
}

// Before anything is sent: a create that cannot be shown must not have happened.
function refuseFormat({ options: { format } }: Session, view: View<never>): void {
  if (view.records || format === undefined || format === 'table' || format === 'json') return;
  throw new PetstoreError('usage', `this command has no rows to print as ${format}`, {
    hint: 'use --json; the other formats are for `petstore categories list`',
  });
}

function contextOf(command: Command): Context {
  for (let at: Command | null = command; at; at = at.parent) {
    const context = contexts.get(at);
    if (context) return context;
  }
  throw new Error('the command tree was given no context');
}
