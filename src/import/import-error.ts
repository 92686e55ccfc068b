// The errors of an import, and which of them decides its exit code. Pure.
import { PetstoreError } from '../errors.ts';
import { formatCount, formatNumber } from '../format.ts';
import { statusTraits } from '../http/retry.ts';
import type { ImportDocument } from './results.ts';
import { quoted } from './row-validator.ts';

const MOST_NAMED = 5;
const COMPARE = 'compare the list of categories with the file';
const SPELLING = 'if a possible match is the row, use its spelling in the file before you run the same command again';

/** Why a run ended before every row was done. */
export interface Stop {
  readonly error: PetstoreError;
  /** It is unsafe to import the same file again, which may create rows twice: this error comes first, and its hint says so. */
  readonly isUnsafe: boolean;
}

/** The effect of a failed create on its row, and whether it ends the run because other rows would fail too. */
export function classifyError(error: unknown): {
  /** `slow`: the service may still process the request; `aborted`: no process has seen its connection end. */
  readonly means: 'rejected' | 'unsent' | 'lost' | 'slow' | 'aborted';
  readonly isFatal: boolean;
} {
  if (!(error instanceof PetstoreError)) return { means: 'lost', isFatal: true };
  const { kind, processed, status = 0 } = error;
  if (kind === 'interrupted' && processed !== 'no') return { means: 'aborted', isFatal: true };
  if (processed !== 'no') return { means: processed === 'late' ? 'slow' : 'lost', isFatal: kind !== 'unknown_outcome' };
  // Other rejections concern every row, such as a 403 of a firewall.
  if (kind === 'rejected') return { means: 'rejected', isFatal: !statusTraits(status).rowSpecific };
  return { means: 'unsent', isFatal: true };
}

/** @param isCreated this run created the categories; otherwise an earlier list showed them */
export function listLacks(count: number, isCreated: boolean): PetstoreError {
  const what = `the list lacks ${formatCount(count, 'category', 'categories')} that ${count === 1 ? 'was' : 'were'}`;
  const hint = `${COMPARE} before you import it again`;
  if (isCreated) return new PetstoreError('service', `${what} just created`, { hint });
  return new PetstoreError('unknown_outcome', `cannot tell which rows exist: ${what} listed before`, { hint });
}

export function changedName(name: string, changed: string): PetstoreError {
  const message = `the service changed the name ${quoted(name)} to ${quoted(changed)}`;
  const hint = "use the service's spelling of all names in the file before you import it again";
  return new PetstoreError('service', message, { hint });
}

export function possibleDuplicates(names: readonly string[]): PetstoreError {
  const which = names.slice(0, MOST_NAMED).map(quoted).join(', ');
  return new PetstoreError('unknown_outcome', `the list shows several categories named ${which}`, { hint: COMPARE });
}

export function noValidResponse(): PetstoreError {
  return new PetstoreError('unknown_outcome', 'the service returned no valid response to several creates');
}

/**
 * @param words the command line that creates the missing rows; undefined if the rows came from a pipe
 * @returns undefined if every row exists; otherwise the first of: an end that `outranksUnknown`, unknown rows, any other
 *   end, rejected rows
 */
export function importError(
  { unknown, failed }: ImportDocument,
  stop: Stop | undefined,
  words: readonly string[] | undefined,
): PetstoreError | undefined {
  if (unknown.length > 0 && !(stop && outranksUnknown(stop))) {
    return rerun(unknownRows(unknown, stop?.error), words, `look ${unknown.length === 1 ? 'it' : 'them'} up again`);
  }
  if (!stop) return failed[0] && rejectedRows(failed[0], failed.length);
  const { error } = stop;
  return rerun(error.kind === 'interrupted' ? interrupted(error, unknown.length > 0) : error, words, 'resume');
}

// Any other exit code would mean that nothing was changed, or that it is enough to wait.
function outranksUnknown({ error: { kind, status = 0 }, isUnsafe }: Stop): boolean {
  const isRedirect = kind === 'service' && status >= 300 && status < 400;
  return isUnsafe || isRedirect || ['interrupted', 'auth', 'storage', 'internal'].includes(kind);
}

// The first worker to stop may have waited while a create was in flight.
function interrupted({ kind, exitCode, facts, processed }: PetstoreError, isUnknown: boolean): PetstoreError {
  const message = exitCode === 130 ? 'interrupted' : 'terminated';
  return new PetstoreError(kind, message, { ...facts, hint: undefined, processed: isUnknown ? 'perhaps' : processed });
}

function unknownRows(unknown: ImportDocument['unknown'], stop: PetstoreError | undefined): PetstoreError {
  const rows = unknown.slice(0, MOST_NAMED).map(({ row, name, maybe }) => {
    const other = maybe ? ` (perhaps category ${maybe.id} ${quoted(maybe.name)})` : '';
    return `row ${row} ${quoted(name)}${other}`;
  });
  const more = unknown.length > MOST_NAMED ? `, and ${formatNumber(unknown.length - MOST_NAMED)} more` : '';
  const message = `${formatCount(unknown.length, 'row')} may or may not exist: ${rows.join(', ')}${more}`;
  const { code, status } = stop ?? {};
  const hint = unknown.some(({ maybe }) => maybe) ? SPELLING : undefined;
  const facts = { hint, code, status, cause: stop };
  return new PetstoreError('unknown_outcome', stop ? `${message} (${stop.message})` : message, facts);
}

function rejectedRows({ row, message, code, status }: ImportDocument['failed'][number], count: number): PetstoreError {
  const rows = count === 1 ? `row ${row}` : `${formatNumber(count)} rows, the first of which is row ${row}`;
  const hint = 'correct the rejected rows, then import the file again';
  return new PetstoreError('rejected', `the service rejected ${rows}: ${message}`, { hint, code, status });
}

// Lets an error without a hint of its own name the command that goes on; after a rejection it would fail in the same way.
function rerun(error: PetstoreError, words: readonly string[] | undefined, why: string): PetstoreError {
  if (error.hint || error.kind === 'rejected') return error;
  const hint = words ? why : `run the same command with the same rows to ${why}`;
  return new PetstoreError(error.kind, error.message, { ...error.facts, hint, command: words });
}
