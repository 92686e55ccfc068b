// What became of rows whose answer was lost: one list, once a late request can be ruled out as far as that is possible.
import type { Category, NewCategory } from '../api/types.ts';
import { LONGEST_SLEEP_MS } from '../clock.ts';
import type { ImportState } from './import-state.ts';
import type { Known } from './reconcile.ts';
import { findDuplicates, matchLost } from './reconcile.ts';

/**
 * How long after a loss a lookup that finds nothing is believed, in milliseconds: the request may still be on its way
 * when its connection is gone. It doubles with every try. Where the service was too slow to answer in time it may be
 * at it still: then as long again as it was given to answer.
 */
const SETTLE_MS = 2000;
const LONGEST_SETTLE_MS = 30_000;

/**
 * Looks up every lost row that is not decided yet.
 * @param work the state of the run; rows that are not there are queued again, up to `maxRetries`
 * @throws PetstoreError where the list fails, the journal cannot be written, or the run is interrupted
 */
export async function lookUp(work: ImportState): Promise<void> {
  const { journal, categories, clock, signal, maxRetries, onProgress } = work.options;
  const lost = work.undecided();
  if (lost.length === 0) return;
  const entries = journal.state.rows;
  const tries = new Map(lost.map(({ row }) => [row, entries.get(row)?.tries ?? 0]));
  const ready = lost.reduce(
    (latest, { row }) => Math.max(latest, work.settledAt(row, settling(tries.get(row) ?? 0))),
    0,
  );
  for (let left = ready - clock.monotonic(); left > 0; left = ready - clock.monotonic())
    await clock.sleep(Math.min(LONGEST_SLEEP_MS, left), signal);
  const findings = matchLost(lost, await categories.list(), knownOf(work));
  for (const [row, category] of findings.found) {
    journal.found(row, String(category.id));
    work.tally.create(row, category);
  }
  for (const row of findings.doubtful) work.giveUp(row);
  for (const row of findings.absent) {
    if ((tries.get(row) ?? 0) > maxRetries) {
      work.giveUp(row);
      continue;
    }
    journal.note(row, 'absent');
    work.sendAgain(row);
  }
  onProgress(work.tally);
}

/**
 * Looks once more, at the end, for rows whose first request arrived only after they had been sent again.
 * @param work the state of the run
 * @returns categories that equal such a row and that no row accounts for; none where the list fails
 */
export async function findSurplus(work: ImportState): Promise<readonly Category[]> {
  const { rows, categories } = work.options;
  if (work.resent.size === 0) return [];
  try {
    const resent = [...work.resent].map((row) => rows[row] as NewCategory);
    return findDuplicates(resent, await categories.list(), knownOf(work));
  } catch {
    // Every row is decided: a check that cannot be made is no failure.
    return [];
  }
}

function knownOf(work: ImportState): Known {
  const { baseline, owners } = work.options.journal.state;
  const elsewhere = work.options.ownedElsewhere();
  return { baseline, owned: (id) => owners.has(id) || elsewhere.has(id) };
}

function settling(tries: number): number {
  return Math.min(LONGEST_SETTLE_MS, SETTLE_MS * 2 ** Math.max(0, tries - 1));
}
