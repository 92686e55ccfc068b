// How a command ends: its data on stdout, the quota on stderr. The only writer to stdout, but for `petstore sandbox`.

import { colorLevel } from '../io.ts';
import { preload, render } from '../output/render.ts';
import type { View } from '../output/view.ts';
import type { Session } from '../session.ts';

/**
 * Loads what the answer will be shown with.
 * @param session whose stdout and format are used
 */
export function preloadRenderer({ context, options }: Session): Promise<void> {
  return preload(options.format ?? 'table', colorLevel(context.stdout, context.env, options.noColor));
}

/**
 * Renders a verb's data and writes it to stdout.
 * @param session whose stdout and format are used
 * @param view how the verb wants its data shown
 * @param data what the verb returned
 * @throws PetstoreError `storage` where stdout cannot be written; what `render` throws
 */
export async function printResult<Data>(session: Session, view: View<Data>, data: Data): Promise<void> {
  const { context, options } = session;
  const stage = {
    colorLevel: colorLevel(context.stdout, context.env, options.noColor),
    columns: context.stdout.columns,
    isTTY: context.stdout.isTTY,
    now: context.clock.now(),
  };
  for await (const piece of await render(data, view, options.format ?? 'table', stage))
    await context.stdout.write(piece);
}

/**
 * Says on stderr what is left of the quota. Only an answered command has news of it: what an earlier one saw is not repeated.
 * @param session the command's session
 * @param since when the command began, epoch milliseconds
 */
export async function printQuotaLine(session: Session, since: number): Promise<void> {
  const { options, context } = session;
  const ledger = options.json || options.quiet ? undefined : await session.lastLedger();
  if (!ledger) return;
  await ledger.refresh();
  const view = ledger.view();
  const now = ledger.clock.now();
  if (view.seenAt === undefined || view.seenAt < since - context.clock.now() + now) return;
  // What was sent has loaded the ledger already; a command that sends nothing does without.
  const { quotaLine } = await import('../rate-limit/quota-view.ts');
  const line = quotaLine(view, now);
  if (line !== undefined) await session.notice(line);
}
