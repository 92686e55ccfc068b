// How a run ends: the error that decides the exit code, and the command that resumes the import. Pure.
import { PetstoreError, rephrase } from '../errors.ts';
import { formatCount, formatNumber } from '../format.ts';
import type { Environment } from '../io.ts';
import { quoteForShell } from '../shell-quote.ts';
import type { ImportDocument, UnknownRow } from './results.ts';
import { quoted } from './validate-row.ts';

const MOST_NAMED = 5;

/**
 * @param resume the command that creates what is missing
 * @param list the command that lists categories
 * @returns undefined where every row exists; else why the run ended early, unknown rows, or rejected rows, in this order
 */
export function importError(
  document: ImportDocument,
  stop: PetstoreError | undefined,
  { resume, list }: { readonly resume: string; readonly list: string },
): PetstoreError | undefined {
  const { unknown, failed } = document;
  if (stop && !(promisesNoChange(stop) && unknown.length > 0)) return stopped(document, stop, resume);
  if (unknown.length > 0) return unknownRows(unknown, stop, resume, list);
  const [first] = failed;
  if (!first) return undefined;
  const rows = failed.length === 1 ? `row ${first.row}` : `${formatNumber(failed.length)} rows, first row ${first.row}`;
  return new PetstoreError('rejected', `the service rejected ${rows}: ${first.message}`, {
    hint: 'correct these rows in the file and run the same command again: it creates what is missing',
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
  return rephrase(stop, `${stop.message} (${summary})`, [...advice, `to create what is missing: ${resume}`].join('\n'));
}

function unknownRows(
  unknown: readonly UnknownRow[],
  stop: PetstoreError | undefined,
  resume: string,
  list: string,
): PetstoreError {
  const rows = unknown.slice(0, MOST_NAMED).map(({ row, name, maybe }) => {
    const other = maybe ? ` (perhaps category ${maybe.id} ${quoted(maybe.name)})` : '';
    return `row ${row} ${quoted(name)}${other}`;
  });
  const more = unknown.length > MOST_NAMED ? `, and ${formatNumber(unknown.length - MOST_NAMED)} more` : '';
  const message = `${formatCount(unknown.length, 'row')} may or may not exist: ${rows.join(', ')}${more}`;
  const altered = unknown.some(({ maybe }) => maybe)
    ? '\nwhere the service altered a name, write it into the file as the service has it'
    : '';
  return new PetstoreError('unknown_outcome', stop ? `${message} (${stop.message})` : message, {
    hint: `to look them up again: ${resume}\nto check yourself: ${list}${altered}`,
    code: stop?.code,
    status: stop?.status,
    cause: stop,
  });
}

interface CommandContext {
  readonly args: readonly string[];
  readonly platform: string;
  readonly env: Environment;
}

/**
 * @param context the arguments it was run with, and what decides the shell
 * @param piped whether the rows came from stdin
 * @param profile as typed
 * @returns for example `petstore categories import 'my species.csv' -p staging`, and the command that lists
 */
export function nextCommands(
  context: CommandContext,
  piped: boolean,
  profile: string | undefined,
): { resume: string; list: string } {
  const words = context.args.map((arg) => quoteForShell(arg, context));
  const resume = `${piped ? 'the same rows | ' : ''}petstore ${words.join(' ')}`;
  return { resume, list: `petstore categories list${profile === undefined ? '' : ` -p ${profile}`}` };
}
