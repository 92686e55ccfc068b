// Decides unknown rows from the service's list: created, absent and sent again, or unknown for good.
import type { Category, NewCategory } from '../api/types.ts';
import { sleepLong } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import { formatNumber } from '../format.ts';
import type { ImportState, NumberedRow, RunOptions } from './import-state.ts';

/**
 * How long after a loss a look-up that finds nothing is believed, in milliseconds, doubled with every attempt: the
 * request may still be on its way when its connection is gone. After a timeout it is at least `--timeout` again.
 */
const SETTLE_MS = 2000;
const LONGEST_SETTLE_MS = 30_000;
/** How often an incomplete list is fetched again, and a find that another import claims too is looked up again. */
const LOOKS = 2;
const IN_FLIGHT_POLL_MS = 250;

/**
 * Looks up every unknown row; rows that do not exist are queued again, up to `maxRetries`.
 * @throws PetstoreError where the list fails, the journal cannot be written, or the run is interrupted
 */
export async function lookUp(state: ImportState): Promise<void> {
  for (let look = 1; look <= LOOKS + 1; look++) {
    state.options.journal.assertHeld();
    const rows = state.undecided();
    if (rows.length === 0) return;
    await settle(state, rows);
    const listed = await completeList(state.options, () => state.options.journal.state.owners.keys());
    if (!listed) {
      for (const { row } of rows) state.givenUp.add(row);
      return;
    }
    const { found, absent, doubtful } = matchUnknown(rows, listed, await knownIds(state));
    const contested = await recordFound(state, found);
    for (const row of doubtful) state.givenUp.add(row);
    for (const row of absent) await recordAbsent(state, row);
    state.options.onProgress(state.results);
    if (contested === 0) return;
    await pause(state.options, SETTLE_MS * state.options.clock.random());
  }
}

// Waits until no request for these rows can be on its way any longer.
async function settle(state: ImportState, rows: readonly NumberedRow[]): Promise<void> {
  const until = rows.reduce((latest, { row }) => Math.max(latest, settledAt(state, row)), 0);
  await pause(state.options, until - state.options.clock.monotonic());
}

function settledAt(state: ImportState, row: number): number {
  const { journal, timeoutMs } = state.options;
  const { attempts = 0, slow = false } = journal.state.rows.get(row) ?? {};
  const settleMs = Math.min(LONGEST_SETTLE_MS, SETTLE_MS * 2 ** Math.max(0, attempts - 1));
  return state.lostAt(row) + (slow ? Math.max(settleMs, timeoutMs) : settleMs);
}

function pause({ clock, signal }: Pick<RunOptions, 'clock' | 'signal'>, ms: number): Promise<void> {
  return sleepLong(clock, ms, signal);
}

/**
 * Lists the categories. A list that lacks one that this import created is behind or cut off, and proves nothing.
 * @returns undefined where it still lacks one after several looks
 */
export async function completeList(
  options: Pick<RunOptions, 'categories' | 'clock' | 'signal'>,
  created: () => Iterable<string>,
): Promise<readonly Category[] | undefined> {
  for (let look = 0; ; look++) {
    const listed = await options.categories.list();
    const ids = new Set(listed.map(({ id }) => String(id)));
    if ([...created()].every((id) => ids.has(id))) return listed;
    if (look === LOOKS) return undefined;
    await pause(options, SETTLE_MS * 2 ** look);
  }
}

export function missingFromList(created: number): PetstoreError {
  const which = created === 1 ? 'the category' : `all of the ${formatNumber(created)} categories`;
  return new PetstoreError('unknown_outcome', `the service does not list ${which} that this import created`, {
    hint: 'try again later; if its data was reset, add --restart --skip-existing to create what is missing',
  });
}

async function recordAbsent(state: ImportState, row: number): Promise<void> {
  const { journal, maxRetries } = state.options;
  const { attempts = 0 } = journal.state.rows.get(row) ?? {};
  if (attempts > maxRetries) state.givenUp.add(row);
  else if ((await journal.record('absent', row)) === 'pending') state.sendAgain(row);
}

// Returns how many finds are not certain.
async function recordFound(state: ImportState, found: ReadonlyMap<number, Category>): Promise<number> {
  const recorded: number[] = [];
  for (const [row, category] of found) {
    if ((await state.options.journal.record('found', row, String(category.id))) !== 'created') continue;
    state.results.categories.set(row, category);
    recorded.push(row);
  }
  return found.size - recorded.length + (await withdrawClaimed(state, recorded));
}

/**
 * Withdraws finds that another import claims too. Two imports may find the same category at the same time: each records
 * its claim first and looks at the others then, so at least one of them sees both claims.
 * @param found rows that were found
 * @returns how many of them are not certain
 */
export async function withdrawClaimed(state: ImportState, found: readonly number[]): Promise<number> {
  if (found.length === 0) return 0;
  const { journal } = state.options;
  const { owned, answered } = await waitForOthers(state);
  const contested = found.filter((row) => !answered || owned.has(journal.state.rows.get(row)?.id ?? ''));
  for (const row of contested) {
    await journal.record('withdrawn', row);
    state.results.categories.delete(row);
  }
  return contested.length;
}

// Waits until every request that another import has in flight now is answered: its 201 may name a category found here.
async function waitForOthers({ options }: ImportState): Promise<{ owned: ReadonlySet<string>; answered: boolean }> {
  const { lookAtOthers, timeoutMs, clock } = options;
  const until = clock.monotonic() + timeoutMs + SETTLE_MS;
  let { owned, inFlight } = await lookAtOthers();
  let open = [...inFlight];
  while (open.length > 0 && clock.monotonic() < until) {
    await pause(options, IN_FLIGHT_POLL_MS);
    ({ owned, inFlight } = await lookAtOthers());
    open = open.filter((request) => inFlight.has(request));
  }
  return { owned, answered: open.length === 0 };
}

/**
 * Looks at the end for rows whose first request was processed after they had been sent again.
 * @returns categories that equal such a row and belong to no row
 */
export async function findLateDuplicates(state: ImportState): Promise<readonly Category[]> {
  if (state.resent.size === 0) return [];
  try {
    const texts = new Set([...state.resent].map((row) => textOf(state.options.rows[row] as NewCategory)));
    const listed = (await completeList(state.options, () => state.options.journal.state.owners.keys())) ?? [];
    return newAndUnowned(listed, await knownIds(state)).filter((category) => texts.has(textOf(category)));
  } catch {
    // Every row is decided: a check that cannot be made is not a failure.
    return [];
  }
}

interface KnownIds {
  /** What existed before the import began; undefined where that is not known. */
  readonly baseline: ReadonlySet<string> | undefined;
  /** Whether a category belongs to a row, of this import or another. */
  readonly owned: (id: string) => boolean;
}

async function knownIds({ options: { journal, lookAtOthers } }: ImportState): Promise<KnownIds> {
  const { baseline, owners } = journal.state;
  const { owned } = await lookAtOthers();
  return { baseline, owned: (id) => owners.has(id) || owned.has(id) };
}

interface LookUpResult {
  /** Each category is given to one row at most. */
  readonly found: ReadonlyMap<number, Category>;
  readonly absent: readonly number[];
  /** A new category resembles these rows: another description, or a name that the service has normalized. */
  readonly doubtful: readonly number[];
}

/** Matches unknown rows, by name and description, with categories that appeared since the import began. */
export function matchUnknown(rows: readonly NumberedRow[], listed: readonly Category[], known: KnownIds): LookUpResult {
  const fresh = newAndUnowned(listed, known);
  const byText = new Map<string, Category[]>();
  for (const category of known.baseline ? fresh : []) {
    const text = textOf(category);
    byText.set(text, [...(byText.get(text) ?? []), category]);
  }
  const found = new Map<number, Category>();
  for (const row of rows) {
    const category = byText.get(textOf(row))?.shift();
    if (category) found.set(row.row, category);
  }
  const taken = new Set(found.values());
  const similar = new Set(fresh.filter((category) => !taken.has(category)).map(({ name }) => normalizeName(name)));
  const absent: number[] = [];
  const doubtful: number[] = [];
  for (const { row, name } of rows) {
    if (!found.has(row)) (similar.has(normalizeName(name)) ? doubtful : absent).push(row);
  }
  return { found, absent, doubtful };
}

function newAndUnowned(listed: readonly Category[], known: KnownIds): Category[] {
  const fresh = new Map<string, Category>();
  for (const category of listed) {
    const id = String(category.id);
    if (!known.baseline?.has(id) && !known.owned(id)) fresh.set(id, category);
  }
  return [...fresh.values()];
}

function textOf(row: NewCategory): string {
  return JSON.stringify([row.name, row.description]);
}

function normalizeName(name: string): string {
  return name.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim();
}
