// Chooses the error of an import, which decides the exit code. Pure.
import type { WriteCommand } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import { formatCount, formatNumber } from '../format.ts';
import { isAlike } from './list-proof.ts';
import type { ImportDocument, UnknownRow } from './results.ts';
import { quoted } from './validate-row.ts';

const MOST_NAMED = 5;

/**
 * @param words the command line that creates the missing rows; undefined if the rows came from a pipe
 * @returns undefined if every row exists; otherwise the first of: unknown rows, an early end of the run, rejected rows; only
 *   an error that `outranksUnknown` comes before unknown rows
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
    return rerun(new PetstoreError(stop.kind, message, { ...stop, processed, cause: stop.cause }), words, 'to resume');
  }
  if (stop) return stop.hint || stop.commandHint ? stop : rerun(stop, words, 'to resume');
  const [first] = failed;
  if (!first) return undefined;
  const rows =
    failed.length === 1
      ? `row ${first.row}`
      : `${formatNumber(failed.length)} rows, the first of which is row ${first.row}`;
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
  const error = new PetstoreError('unknown_outcome', stop ? `${message} (${stop.message})` : message, {
    ...suspectHint(unknown),
    code: stop?.code,
    status: stop?.status,
    cause: stop,
  });
  return error.hint || error.commandHint ? error : rerun(error, words, 'to look them up again');
}

function suspectHint(unknown: readonly UnknownRow[]): Partial<Pick<PetstoreError, 'hint' | 'commandHint'>> {
  const suspects = unknown.filter(({ maybe }) => maybe);
  if (suspects.length === 0) return {};
  if (suspects.some(({ name, maybe }) => isAlike(name, maybe?.name ?? ''))) {
    return { hint: 'if the service changed a name, use the changed name in the file' };
  }
  // As long as the category is listed, no list proves that the row is missing.
  return {
    commandHint: (petstore) =>
      `if the possible match is another category, create the row with ${petstore('categories', 'create')}`,
  };
}

function rerun(error: PetstoreError, words: readonly string[] | undefined, why: string): PetstoreError {
  const same = `run the same command with the same rows ${why}`;
  const commandHint = (petstore: WriteCommand): string => (words ? `run ${petstore(...words)} ${why}` : same);
  const { cause } = error;
  return new PetstoreError(error.kind, error.message, { ...error, commandHint, cause });
}

/** @returns the arguments without the profile option, which is added to every printed command */
export function withoutProfile(args: readonly string[]): string[] {
  const isOption = (arg = ''): boolean => arg === '-p' || arg === '--profile';
  return args.filter((arg, at) => !isOption(arg) && !isOption(args[at - 1]) && !/^(?:-p.|--profile=)/.test(arg));
}
