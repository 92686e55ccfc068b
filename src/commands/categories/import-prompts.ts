// What an import says and asks before its first row is sent.

import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { formatCount, formatNumber } from '../../format.ts';
import { dailyNotice, estimate, formatEstimate } from '../../import/estimate.ts';
import type { ImportPlan } from '../../import/import-state.ts';
import { wrap } from '../../output/wrap.ts';
import type { Job } from './prepare-import.ts';

/** What the prompt adds to the question. */
const ANSWERS = ' (y/N)';

/**
 * Says what is about to happen, and asks where a terminal is there.
 * @throws PetstoreError `interrupted` where the answer is no
 */
export async function confirmImport({ session, input, rows }: Job, plan: ImportPlan): Promise<void> {
  const { context } = session;
  const { send, existing, resumed } = plan;
  if (resumed > 0) {
    const done = `${formatNumber(resumed)} of ${formatCount(rows.length, 'row')}`;
    await session.notice(`resuming: ${done} ${resumed === 1 ? 'was' : 'were'} created by an earlier run`);
  }
  if (send === 0) return;
  const repeated = rows.length - new Set(rows.map(({ name }) => name)).size;
  if (repeated > 0) {
    const repeat = repeated === 1 ? '1 row repeats' : `${formatNumber(repeated)} rows repeat`;
    await session.warn(`${repeat} the name of an earlier row; each row becomes a category`);
  }
  if (existing > 0) {
    const have = existing === 1 ? '1 row has' : `${formatNumber(existing)} rows have`;
    await session.notice(`${have} a name that already exists (--skip-existing skips such rows)`);
  }
  const ledger = await session.ledger();
  await ledger.refresh();
  const expected = estimate(send, ledger.view(), ledger.clock.now());
  const daily = dailyNotice(send, expected);
  if (daily !== undefined) await session.notice(daily);
  const target = await session.target();
  if (input.yes || target.keySource === 'sandbox' || !context.stdin.isTTY || !context.stderr.isTTY) return;
  const { askYesNo } = await import('../../output/prompt.ts');
  const time = expected && expected.ms > 0 ? ` Estimated time: ${formatEstimate(expected)}` : '';
  const question = `Create ${formatCount(send, 'category', 'categories')} at ${target.baseUrl}?${time}`;
  const lines = wrap(`${escapeControls(question)}${ANSWERS}`, context.stderr.columns ?? 80).slice(0, -ANSWERS.length);
  if (!(await askYesNo(context, lines))) throw new PetstoreError('interrupted', '');
}
