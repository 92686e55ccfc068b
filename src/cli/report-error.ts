// Prints an error to stderr: its message and hint as text, or one line of JSON.
import { inspect } from 'node:util';
import type { PetstoreError } from '../errors.ts';
import { rephrase, toPetstoreError } from '../errors.ts';
import { stateDirIfAny } from '../settings/paths.ts';
import { escapeControls, terminalSafeJson } from '../text/escape.ts';
import { redactTypedKeys } from '../text/redact.ts';
import type { Context } from './context.ts';
import { loadStyle } from './output/render.ts';
import type { GlobalOptions } from './reference.ts';
import { formatCommand } from './shell-quote.ts';

type ReportOptions = Pick<GlobalOptions, 'profile' | 'json' | 'verbose' | 'color'>;

/**
 * Accepts any thrown value.
 * @returns the exit code (docs/cli.md, exit codes)
 */
export async function reportError(error: unknown, context: Context, options: ReportOptions): Promise<number> {
  const shown = completeHint(toPetstoreError(error, stateDirIfAny(context)), context, options.profile);
  if (shown.details.silent) return shown.exitCode;
  const { stderr, env } = context;
  const { red } = await loadStyle(stderr, env, options.color);
  const json = `${terminalSafeJson(JSON.stringify({ error: shown }))}\n`;
  await stderr.write(options.json ? json : textLines(shown, red));
  if (options.verbose && shown.kind === 'internal') await stderr.write(`${escapeControls(inspect(shown), '\n')}\n`);
  return shown.exitCode;
}

/**
 * Names the command in the hint, and redacts a key that was typed in place of another argument.
 * @param profile the value of `--profile`, which the command repeats
 */
export function completeHint(error: PetstoreError, context: Context, profile: string | undefined): PetstoreError {
  const { kind, message } = error;
  const shown = (words: string): string => (kind === 'usage' ? redactTypedKeys(words, context.args) : words);
  const { hint, command } = error.details;
  const text = command ? `run ${formatCommand(command, profile, context)} to ${hint}` : hint;
  if (text === undefined) return rephrase(error, shown(message));
  return rephrase(error, shown(message), { hint: shown(text) });
}

function textLines(error: PetstoreError, red: (text: string) => string): string {
  const code = error.code === undefined || error.message.includes(error.code) ? '' : ` [${error.code}]`;
  const hint = error.hint === undefined ? '' : `hint: ${error.hint}\n`;
  return `${red('error:')} ${escapeControls(`${error.message}${code}\n${hint}`, '\n')}`;
}
