// The end of a run: the error that decides the exit code, and the command that resumes the import. Pure.
import type { Category } from '../api/types.ts';
import type { Environment } from '../environment.ts';
import { PetstoreError } from '../errors.ts';
import { quoteForShell } from '../shell-quote.ts';
import type { ImportDocument, UnknownRow } from './results.ts';
import type { RunResult } from './run.ts';

const NAMED = 5;

/**
 * Says whether a run failed (contract, sections 3 and 7).
 * @param document what became of every row
 * @param result why it ended early, if it did, and what may be there twice
 * @param goOn the command that goes on where it stopped
 * @returns undefined where every row exists once; else what ended it, rows of unknown outcome, categories that may be
 *   one too many, or rejected rows, in this order
 */
export function importError(
  document: ImportDocument,
  { stop, duplicates }: Pick<RunResult, 'stop' | 'duplicates'>,
  goOn: string,
): PetstoreError | undefined {
  const { unknown, failed } = document;
  if (stop && !(saysNothingChanged(stop) && unknown.length > 0)) return stopped(document, stop, goOn);
  if (unknown.length > 0) return undecided(unknown, stop, goOn);
  if (duplicates.length > 0) return oneTooMany(duplicates);
  const [first] = failed;
  if (!first) return undefined;
  const rows = failed.length === 1 ? `row ${first.row}` : `${failed.length} rows, the first is row ${first.row}`;
  return new PetstoreError('rejected', `the service rejected ${rows}: ${first.message}`, {
    hint: 'correct them in the file, then import it with --skip-existing: what was created is left out',
    code: first.code,
    status: first.status,
  });
}

// Exit codes 6 and 7 promise that nothing was changed; that is not known where an answer was lost. A redirect is 7 always.
function saysNothingChanged({ kind, status = 0 }: PetstoreError): boolean {
  return kind === 'network' || (kind === 'service' && !(status >= 300 && status < 400));
}

function stopped(document: ImportDocument, stop: PetstoreError, goOn: string): PetstoreError {
  const { created, skipped, failed, unknown, pending } = document;
  const counts = [`${created.length} created`];
  if (skipped.length > 0) counts.push(`${skipped.length} skipped`);
  if (failed.length > 0) counts.push(`${failed.length} rejected`);
  if (unknown.length > 0) counts.push(`${unknown.length} of unknown outcome`);
  counts.push(`${pending} pending`);
  const advice = stop.kind === 'interrupted' || stop.hint === undefined ? [] : [stop.hint];
  return new PetstoreError(stop.kind, `${stop.message} (${counts.join(', ')})`, {
    hint: [...advice, `to go on: ${goOn}`].join('\n'),
    code: stop.code,
    status: stop.status,
    retryAt: stop.retryAt,
    exitCode: stop.exitCode,
    cause: stop.cause,
  });
}

function undecided(unknown: readonly UnknownRow[], stop: PetstoreError | undefined, goOn: string): PetstoreError {
  const named = unknown.slice(0, NAMED).map(({ row, name }) => `row ${row} "${name}"`);
  const more = unknown.length > NAMED ? `, and ${unknown.length - NAMED} more` : '';
  const why = stop ? ` (${stop.message})` : '';
  const rows = unknown.length === 1 ? 'a row exists' : `${unknown.length} rows exist`;
  return new PetstoreError('unknown_outcome', `it is not known whether ${rows}: ${named.join(', ')}${more}${why}`, {
    hint: `to look them up again and go on: ${goOn}\nto look yourself: petstore categories list --search NAME`,
    code: stop?.code,
    status: stop?.status,
    cause: stop,
  });
}

function oneTooMany(surplus: readonly Category[]): PetstoreError {
  const named = surplus.slice(0, NAMED).map(({ id, name }) => `${id} "${name}"`);
  const more = surplus.length > NAMED ? `, and ${surplus.length - NAMED} more` : '';
  const what = surplus.length === 1 ? 'a category' : `${surplus.length} categories`;
  return new PetstoreError('unknown_outcome', `${what} may be one too many: ${named.join(', ')}${more}`, {
    hint: 'the row was sent again after its first request seemed lost, and both seem to have arrived: look with `petstore categories list --search NAME`',
  });
}

/**
 * Writes the command that goes on: the same one, but what it has noted is not forgotten.
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
