// The errors of an import, and which of them determines its exit code. Pure.
import { PetstoreError, rephrase } from '../errors.ts';
import { statusTraits } from '../http/retry.ts';
import type { ImportDocument } from '../public-types.ts';
import { formatCount, formatNumber, formatSome, quoted } from '../text/format.ts';

const MOST_NAMED = 5;
const SPELLING =
  'if a new category belongs to one of the rows, use its spelling in that row before you import the rows again';
const COMPARE = 'compare the list of categories with the rows';

/** Why a run ended before every row was done. */
export interface Stop {
  readonly error: PetstoreError;
  /** Whether another import of the same rows may create categories twice: this error, whose hint warns of it, then comes first. */
  readonly rerunUnsafe: boolean;
}

/** The effect of a failed create on its row, and whether it ends the run because other rows would fail too. */
export function classifyError(error: unknown): {
  /** `slow`: the service may still process the request; `aborted`: this run stopped waiting for the response. */
  readonly outcome: 'rejected' | 'unsent' | 'lost' | 'slow' | 'aborted';
  readonly isFatal: boolean;
} {
  if (!(error instanceof PetstoreError)) return { outcome: 'lost', isFatal: true };
  const { kind, processed, status = 0 } = error;
  if (kind === 'interrupted' && processed !== 'no') return { outcome: 'aborted', isFatal: true };
  if (processed !== 'no')
    return { outcome: processed === 'late' ? 'slow' : 'lost', isFatal: kind !== 'unknown_outcome' };
  // Other rejections, such as a 403 from a firewall, concern every row.
  if (kind === 'rejected') return { outcome: 'rejected', isFatal: !statusTraits(status).isRowSpecific };
  return { outcome: 'unsent', isFatal: true };
}

/** @param isCreated whether this run created the categories; if not, an earlier list showed them */
export function incompleteListError(count: number, isCreated: boolean): PetstoreError {
  const what = `the list lacks ${formatCount(count, 'category', 'categories')} that ${count === 1 ? 'was' : 'were'}`;
  if (!isCreated) {
    const hint = `${COMPARE} before you import them again`;
    return new PetstoreError('unknown_outcome', `cannot determine which categories exist: ${what} listed before`, {
      hint,
    });
  }
  const which = count === 1 ? 'that category' : 'those categories';
  const hint = `${COMPARE} first, because another import would create ${which} twice`;
  return new PetstoreError('service', `${what} just created`, { hint });
}

/** @param isRow whether a row has the changed name: the category may belong to that row, so another spelling does not help */
export function changedNameError(name: string, changed: string, isRow: boolean): PetstoreError {
  const message = `the service changed the name ${quoted(name)} to ${quoted(changed)}`;
  const hint = isRow ? COMPARE : "use the service's spelling of all names in the rows";
  return new PetstoreError('service', message, { hint: `${hint} before you import them again` });
}

export function possibleDuplicatesError(names: readonly string[]): PetstoreError {
  const which = formatSome(names.map(quoted), MOST_NAMED);
  return new PetstoreError('unknown_outcome', `the list shows several categories named ${which}`, { hint: COMPARE });
}

export function noValidResponseError(): PetstoreError {
  return new PetstoreError('unknown_outcome', 'the service returned no valid response to several creates');
}

/** @returns undefined if the category of every row exists */
export function importError(document: ImportDocument, stop: Stop | undefined): PetstoreError | undefined {
  const { unknown, failed } = document;
  const isUnknown = unknown.length > 0;
  const stopped = stop && stopError(stop.error, isUnknown);
  const byPrecedence = [
    // Another import of the same rows may create categories twice.
    stop?.rerunUnsafe ? stopped : undefined,
    // Another import would end in the same way, or the user has ended this one.
    stop && mustBeResolved(stop.error) ? stopped : undefined,
    isUnknown ? unknownRowsError(document, stop?.error) : undefined,
    // The exit codes of other stops mean that nothing was changed, or that it is enough to wait.
    stopped,
    failed[0] && rejectedRowsError(failed[0], failed.length),
  ];
  return byPrecedence.find((error) => error !== undefined);
}

function mustBeResolved({ kind, status = 0 }: PetstoreError): boolean {
  const isRedirect = kind === 'service' && status >= 300 && status < 400;
  return isRedirect || ['interrupted', 'auth', 'storage', 'internal'].includes(kind);
}

function stopError(error: PetstoreError, isUnknown: boolean): PetstoreError {
  return withReason(error.kind === 'interrupted' ? interruptedError(error, isUnknown) : error, 'resume');
}

// The first worker to stop may have been waiting while another worker's create was in flight.
function interruptedError({ kind, details, processed }: PetstoreError, isUnknown: boolean): PetstoreError {
  // A signal other than that of Ctrl-C has another exit code.
  const message = (details.exitCode ?? 130) === 130 ? 'interrupted' : 'terminated';
  return new PetstoreError(kind, message, {
    ...details,
    hint: undefined,
    reason: undefined,
    processed: isUnknown ? 'perhaps' : processed,
  });
}

function unknownRowsError(
  { unknown, unexplained = [] }: ImportDocument,
  stop: PetstoreError | undefined,
): PetstoreError {
  const rows = unknown.map(({ row, name }) => `${quoted(name)} (row ${row})`);
  const reasons = stop ? [stop.message] : unknown.slice(0, MOST_NAMED).flatMap(({ reason }) => reason ?? []);
  const why = reasons.length > 0 ? ` (${[...new Set(reasons)].join('; ')})` : '';
  const found = unexplained.map(({ id, name }) => `${quoted(name)} (id ${id})`);
  const more = found.length > 0 ? `; new in the list: ${formatSome(found, MOST_NAMED)}` : '';
  const what = formatCount(unknown.length, 'category', 'categories');
  const message = `${what} may or may not exist: ${formatSome(rows, MOST_NAMED)}${why}${more}`;
  const { code, status } = stop ?? {};
  const error = new PetstoreError('unknown_outcome', message, { code, status, cause: stop });
  if (more) return rephrase(error, message, { hint: SPELLING });
  return withReason(error, `look up the ${unknown.length === 1 ? 'category' : 'categories'} again`);
}

function rejectedRowsError(
  { row, message, code, status }: ImportDocument['failed'][number],
  count: number,
): PetstoreError {
  const hint = 'correct the rejected rows, then import all rows again';
  const rows = count === 1 ? '' : `${formatNumber(count)} rows; `;
  return new PetstoreError('rejected', `the service rejected ${rows}row ${row}: ${message}`, { hint, code, status });
}

// Adds the hint to import again, unless the error has a hint; after a rejection or a bug, another import would fail again.
function withReason(error: PetstoreError, to: string): PetstoreError {
  if (error.hint || error.details.reason || /^(?:rejected|internal)$/.test(error.kind)) return error;
  return rephrase(error, error.message, { hint: `import the rows again to ${to}`, reason: { is: 'import_ended', to } });
}
