// The errors of an import, and which of them decides its exit code. Pure.
import type { WriteCommand } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import { formatCount, formatNumber } from '../format.ts';
import { checkConnection } from '../http/request-errors.ts';
import { statusTraits } from '../http/retry.ts';
import type { ImportDocument, UnknownRow } from './results.ts';
import { quoted } from './validate-row.ts';

const MOST_NAMED = 5;
const COMPARE = 'compare the list of categories with the file';
const TWICE = 'another import would create them twice';
const SPELLING = 'if the service changed the name, use its spelling in the file; otherwise run the same command again';

/**
 * @param words the command line that creates the missing rows; undefined if the rows came from a pipe
 * @returns undefined if every row exists; otherwise the first of: unknown rows, the end of the run, rejected rows; only an
 *   end that `outranksUnknown` comes before unknown rows
 */
export function importError(
  { unknown, failed }: ImportDocument,
  stop: PetstoreError | undefined,
  words: readonly string[] | undefined,
): PetstoreError | undefined {
  if (unknown.length > 0 && (!stop || !outranksUnknown(stop))) return unknownRows(unknown, stop, words);
  if (stop?.kind === 'interrupted') {
    // The first worker to stop may have waited while a create was in flight; running the import again checks its outcome.
    const processed = unknown.length > 0 ? 'perhaps' : stop.processed;
    const message = stop.exitCode === 143 ? 'terminated' : 'interrupted';
    return rerun(new PetstoreError(stop.kind, message, { ...stop.facts, processed }), words, 'to resume');
  }
  if (stop) return stop.hint || stop.commandHint ? stop : rerun(stop, words, 'to resume');
  const [first] = failed;
  if (!first) return undefined;
  const more = `${formatNumber(failed.length)} rows, the first of which is row ${first.row}`;
  const rows = failed.length === 1 ? `row ${first.row}` : more;
  return new PetstoreError('rejected', `the service rejected ${rows}: ${first.message}`, {
    hint: 'correct the rejected rows, then import the file again',
    code: first.code,
    status: first.status,
  });
}

// The exit codes of all other errors would say that nothing was changed, or that waiting is enough.
function outranksUnknown({ kind, status = 0 }: PetstoreError): boolean {
  const isRedirect = kind === 'service' && status >= 300 && status < 400;
  return isRedirect || kind === 'interrupted' || kind === 'auth' || kind === 'storage' || kind === 'internal';
}

function unknownRows(
  unknown: readonly UnknownRow[],
  stop: PetstoreError | undefined,
  words: readonly string[] | undefined,
): PetstoreError {
  const rows = unknown.slice(0, MOST_NAMED).map(({ row, name, maybe }) => {
    const other = maybe ? ` (perhaps category ${maybe.id} ${quoted(maybe.name)})` : '';
    return `row ${row} ${quoted(name)}${other}`;
  });
  const more = unknown.length > MOST_NAMED ? `, and ${formatNumber(unknown.length - MOST_NAMED)} more` : '';
  const message = `${formatCount(unknown.length, 'row')} may or may not exist: ${rows.join(', ')}${more}`;
  const warning = stop?.hint?.includes(TWICE) ? stop.hint : undefined;
  const hint = warning ?? (unknown.some(({ maybe }) => maybe) ? SPELLING : undefined);
  const { code, status } = stop ?? {};
  const facts = { hint, code, status, cause: stop };
  const error = new PetstoreError('unknown_outcome', stop ? `${message} (${stop.message})` : message, facts);
  return hint ? error : rerun(error, words, 'to look them up again');
}

function rerun(error: PetstoreError, words: readonly string[] | undefined, why: string): PetstoreError {
  const same = `run the same command with the same rows ${why}`;
  const commandHint = (petstore: WriteCommand): string => (words ? `run ${petstore(...words)} ${why}` : same);
  return new PetstoreError(error.kind, error.message, { ...error.facts, commandHint });
}

/** The effect of a failed create on its row, and whether it ends the run because other rows would fail too. */
export function classifyError(error: unknown): {
  /** `slow`: the service may still process the request; `aborted`: nobody has seen its connection end. */
  readonly means: 'rejected' | 'unsent' | 'lost' | 'slow' | 'aborted';
  readonly stop: boolean;
} {
  if (!(error instanceof PetstoreError)) return { means: 'lost', stop: true };
  const { kind, processed, status = 0 } = error;
  if (kind === 'interrupted' && processed !== 'no') return { means: 'aborted', stop: true };
  if (processed !== 'no') return { means: processed === 'late' ? 'slow' : 'lost', stop: kind !== 'unknown_outcome' };
  // Other rejections concern every row, such as a 403 of a firewall.
  if (kind === 'rejected') return { means: 'rejected', stop: !statusTraits(status).rowSpecific };
  return { means: 'unsent', stop: true };
}

export function toPetstoreError(error: unknown): PetstoreError {
  if (error instanceof PetstoreError) return error;
  const hint = 'run the command again with --verbose and report the output';
  const message = 'unexpected failure during the import (a bug in petstore)';
  return new PetstoreError('internal', message, { hint, cause: error });
}

export function cachedList(): PetstoreError {
  return serviceError(
    'cannot tell which rows are missing: the list of categories comes from a cache',
    'try again later',
  );
}

/** @param which how the run knows of the categories that its last list does not show */
export function listLacks(count: number, which: 'just created' | 'listed before'): PetstoreError {
  const lacking = formatCount(count, 'category', 'categories');
  return serviceError(`the list lacks ${lacking} that were ${which}`, `${TWICE}: ${COMPARE}`);
}

export function changedName(name: string, changed: string): PetstoreError {
  const hint = `use the service's spelling of all names in the file: ${TWICE}`;
  return serviceError(`the service changed the name ${quoted(name)} to ${quoted(changed)}`, hint);
}

function serviceError(message: string, hint: string): PetstoreError {
  return new PetstoreError('service', message, { hint });
}

export function perhapsTwice(names: readonly string[]): PetstoreError {
  const which = names.slice(0, MOST_NAMED).map(quoted).join(', ');
  return new PetstoreError('unknown_outcome', `the list shows more categories than rows: ${which}`, { hint: COMPARE });
}

export function noValidResponse(): PetstoreError {
  const message = 'the service returned no valid response to several creates';
  return new PetstoreError('unknown_outcome', message, { commandHint: checkConnection });
}
