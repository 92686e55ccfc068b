// How a command ends: its data on stdout, the quota on stderr. The only writer to stdout, but for `petstore sandbox`.

import { colorLevel } from '../io.ts';
import { prepare, render } from '../output/render.ts';
import type { View } from '../output/view.ts';
import type { Session } from '../session.ts';

/**
 * Loads what the answer will be shown with.
 * @param session whose stdout and format are used
 */
export function prepareToPrint({ context, globals }: Session): Promise<void> {
  return prepare(globals.format ?? 'table', colorLevel(context.stdout, context.env, globals.noColor));
}

/**
 * Renders a verb's data and writes it to stdout.
 * @param session whose stdout and format are used
 * @param view how the verb wants its data shown
 * @param data what the verb returned
 * @throws PetstoreError `storage` where stdout cannot be written; what `render` throws
 */
export async function print<Data>(session: Session, view: View<Data>, data: Data): Promise<void> {
  const { context, globals } = session;
  const stage = {
    colorLevel: colorLevel(context.stdout, context.env, globals.noColor),
    columns: context.stdout.columns,
    isTTY: context.stdout.isTTY,
    now: context.clock.now(),
  };
  for await (const piece of await render(data, view, globals.format ?? 'table', stage))
    await context.stdout.write(piece);
}

/**
 * Says on stderr what is left of the quota. Only an answered command has news of it: what an earlier one saw is not repeated.
 * @param session the command's session
 * @param since when the command began, epoch milliseconds
 */
export async function tellQuota(session: Session, since: number): Promise<void> {
  const { globals, context } = session;
  const ledger = globals.json || globals.quiet ? undefined : await session.sentWith();
  if (!ledger) return;
  const view = ledger.view();
  if (view.seenAt === undefined || view.seenAt < since) return;
  // What was sent has loaded the ledger already; a command that sends nothing does without.
  const { quotaLine } = await import('../rate-limit/quota-view.ts');
  const line = quotaLine(view, context.clock.now());
  if (line !== undefined) await session.notice(line);
}
