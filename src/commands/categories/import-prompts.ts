// What an import says and asks before its first row: how much there is, what is odd about it, and whether to begin.
import { formatDuration } from '../../duration.ts';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { estimate } from '../../import/estimate.ts';
import type { ImportPlan } from '../../import/import-state.ts';
import type { RowEntry } from '../../import/journal-record.ts';
import type { Job } from './prepare-import.ts';

/**
 * Asks before a first row is sent, where somebody is there to answer: with the rows on stdin there is nothing left to
 * answer through (contract, section 7: not for `sandbox`, nor with `--yes`).
 * @param job the import
 * @param noted what its journal says
 * @throws PetstoreError `interrupted` where the answer is no
 */
export async function confirmImport(
  { session, input, rows }: Job,
  noted: ReadonlyMap<number, RowEntry>,
): Promise<void> {
  const { context } = session;
  const target = await session.target();
  const created = [...noted.values()].filter(({ state }) => state === 'created').length;
  const left = rows.length - created;
  if (created > 0) {
    const forget = '(--restart forgets that)';
    await session.notice(`${created} of ${rows.length} rows were created by an earlier run, ${left} left ${forget}`);
  }
  if (left === 0 || input.yes || target.keySource === 'sandbox') return;
  if (!context.stdin.isTTY || !context.stderr.isTTY) return;
  const { askYesNo } = await import('../../output/prompt.ts');
  const what = `${input.skipExisting ? 'up to ' : ''}${left} ${left === 1 ? 'category' : 'categories'}`;
  const question = `Create ${what} in profile ${target.profile} (${target.baseUrl})?`;
  if (await askYesNo(context, escapeControls(question))) return;
  throw new PetstoreError('interrupted', 'nothing was imported', { hint: 'the answer was no' });
}

/**
 * Says what is better known before the first row goes than after the last.
 * @param job the import
 * @param plan what is about to be sent
 */
export async function announce({ session, rows }: Job, plan: ImportPlan): Promise<void> {
  const ledger = await session.ledger();
  await ledger.refresh();
  const now = ledger.clock.now();
  const { daily, endsAt } = estimate(plan.send, ledger.view(), now);
  if (daily && endsAt !== undefined) {
    const left = daily.told
      ? `${daily.left} of ${daily.limit} requests of the day are left`
      : `a plan with this limit has ${daily.limit} requests per day`;
    const time = formatDuration(endsAt - now);
    await session.notice(`the day's quota does not last for ${plan.send} rows: ${left}; it takes at least ${time}`);
  }
  const repeated = plan.send > 0 ? rows.length - new Set(rows.map(({ name }) => name)).size : 0;
  if (repeated === 1) await session.notice('1 row repeats a name of the file; each is created');
  if (repeated > 1) await session.notice(`${repeated} rows repeat a name of the file; each is created`);
  const { existing } = plan;
  if (existing === 1) {
    await session.notice('1 row has a name that exists already; it is created too (--skip-existing leaves it out)');
  } else if (existing > 1) {
    const leave = '(--skip-existing leaves them out)';
    await session.notice(`${existing} rows have a name that exists already; they are created too ${leave}`);
  }
}
