// How a run ends: the error that decides the exit code, and the command that resumes the import. Pure.
import type { Category } from '../api/types.ts';
import { PetstoreError } from '../errors.ts';
import { formatCount, formatNumber } from '../format.ts';
import type { Environment } from '../io.ts';
import { quoteForShell } from '../shell-quote.ts';
import type { ImportDocument, UnknownRow } from './results.ts';
import type { RunResult } from './run.ts';

const MOST_NAMED = 5;

/**
 * @returns undefined where every row exists once; else why the run ended early, unknown rows, possible duplicates, or
 *   rejected rows, in this order
 */
export function importError(
  document: ImportDocument,
  { stop, duplicates }: Pick<RunResult, 'stop' | 'duplicates'>,
  resume: string,
): PetstoreError | undefined {
  const { unknown, failed } = document;
  if (stop && !(promisesNoChange(stop) && unknown.length > 0)) return stopped(document, stop, resume);
  if (unknown.length > 0) return unknownRows(unknown, stop, resume);
  if (duplicates.length > 0) return possibleDuplicates(duplicates);
  const [first] = failed;
  if (!first) return undefined;
  const rows = failed.length === 1 ? `row ${first.row}` : `${formatNumber(failed.length)} rows, first row ${first.row}`;
  return new PetstoreError('rejected', `the service rejected ${rows}: ${first.message}`, {
    hint: 'correct these rows in the file, then import it with --skip-existing',
    code: first.code,
    status: first.status,
  });
}

// Exit codes 6 and 7 mean that nothing was changed, except after a redirect; with unknown rows that is not certain.
function promisesNoChange({ kind, status = 0 }: PetstoreError): boolean {
  return kind === 'network' || (kind === 'service' && !(status >= 300 && status < 400));
}

function stopped(document: ImportDocument, stop: PetstoreError, resume: string): PetstoreError {
  const { created, skipped, failed, unknown, pending } = document;
  const counts = [
    [created.length, 'created'],
    [skipped.length, 'skipped'],
    [failed.length, 'rejected'],
    [unknown.length, 'unknown'],
    [pending, 'pending'],
  ] as const;
  const shown = counts.filter(([count, word]) => count > 0 || word === 'created' || word === 'pending');
  const summary = shown.map(([count, word]) => `${formatNumber(count)} ${word}`).join(', ');
  const advice = stop.kind === 'interrupted' || stop.hint === undefined ? [] : [stop.hint];
  return stop.rephrase(`${stop.message} (${summary})`, [...advice, `to resume: ${resume}`].join('\n'));
}

function unknownRows(unknown: readonly UnknownRow[], stop: PetstoreError | undefined, resume: string): PetstoreError {
  const rows = unknown.map(({ row, name }) => `row ${row} "${name}"`);
  const message = `${formatCount(unknown.length, 'row')} may or may not exist: ${firstOf(rows)}`;
  return new PetstoreError('unknown_outcome', stop ? `${message} (${stop.message})` : message, {
    hint: `to look them up again and resume: ${resume}\nto check yourself: petstore categories list --search NAME`,
    code: stop?.code,
    status: stop?.status,
    cause: stop,
  });
}

function possibleDuplicates(categories: readonly Category[]): PetstoreError {
  const named = categories.map(({ id, name }) => `${id} "${name}"`);
  const message = `${formatCount(categories.length, 'category', 'categories')} may be a duplicate: ${firstOf(named)}`;
  return new PetstoreError('unknown_outcome', message, {
    hint: 'a row was sent again because its first request seemed lost; check with `petstore categories list --search NAME`',
  });
}

function firstOf(names: readonly string[]): string {
  const more = names.length > MOST_NAMED ? `, and ${formatNumber(names.length - MOST_NAMED)} more` : '';
  return `${names.slice(0, MOST_NAMED).join(', ')}${more}`;
}

/**
 * @param context the arguments it was run with, and what decides the shell
 * @param piped whether the rows came from stdin
 * @returns for example `petstore categories import 'my species.csv' -p staging`
 */
export function resumeCommand(
  context: { readonly args: readonly string[]; readonly platform: string; readonly env: Environment },
  piped: boolean,
): string {
  const words = context.args.filter((arg) => arg !== '--restart').map((arg) => quoteForShell(arg, context));
  return `${piped ? 'the same rows | ' : ''}petstore ${words.join(' ')}`;
}
