// Runs a command: open the session, load the action, run it, print its result and the quota.
import type { Command } from 'commander';
import { PetstoreError } from '../errors.ts';
import { colorLevel } from '../io.ts';
import { loadRenderer } from '../output/render.ts';
import type { View } from '../output/view.ts';
import type { Context, Session } from '../session.ts';
import { openSession, readGlobalOptions } from '../session.ts';
import type { CommandDefinition } from './command.ts';
import { startProgress } from './command-progress.ts';

/** Runs a command after parsing; throws what the action throws. */
export async function runCommand(definition: CommandDefinition, command: Command, context: Context): Promise<void> {
  const options = command.optsWithGlobals();
  const session = openSession(context, readGlobalOptions(options, context.env));
  const action = typeof definition.action === 'function' ? await definition.action() : definition.action;
  // Before anything is sent: a create whose result cannot be shown must not happen.
  const print = await loadPrinter(session, action.view);
  const startedAt = context.clock.now();
  context.cleanups.unshift(() => printQuotaLine(session, startedAt));
  const stopProgress = await startProgress(session);
  const data = await action.run(session, { args: command.args, options, command }).finally(stopProgress);
  try {
    await print(data);
  } catch (error) {
    if (!(error instanceof PetstoreError) || !action.summary) throw error;
    throw error.rephrase(`${error.message}; ${action.summary(data)}`);
  }
  const failure = action.exitError?.(data);
  if (failure) throw failure;
}

/** Loads what prints a result on stdout in the session's format. */
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

// Only a command that received a response reports the quota: older knowledge is shown by `petstore quota`.
async function printQuotaLine(session: Session, startedAt: number): Promise<void> {
  const { options, context } = session;
  const ledger = options.json || options.quiet ? undefined : await session.lastLedger();
  if (!ledger) return;
  await ledger.refresh();
  const view = ledger.view();
  const now = ledger.clock.now();
  if (view.seenAt === undefined || view.seenAt < startedAt - context.clock.now() + now) return;
  const { quotaLine } = await import('../rate-limit/quota-view.ts');
  const line = quotaLine(view, now);
  if (line !== undefined) await session.notice(line);
}
