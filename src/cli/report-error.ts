// Prints an error to stderr: its message and hint as text, or one line of JSON.
import { inspect } from 'node:util';
import type { PetstoreError } from '../errors.ts';
import { toPetstoreError } from '../errors.ts';
import { escapeControls, terminalSafeJson } from '../text/escape.ts';
import type { Context } from './context.ts';
import type { TypedOptions } from './global-options.ts';
import { wantsJson } from './global-options.ts';
import { withHint } from './hints.ts';
import { loadStyle } from './output/render.ts';
import { EXIT_CODES } from './reference.ts';

/**
 * Accepts any thrown value.
 * @returns the exit code (docs/cli.md, exit codes)
 */
export async function reportError(error: unknown, context: Context, options: TypedOptions): Promise<number> {
  const shown = withHint(toPetstoreError(error), context, options.profile);
  const code = exitCodeOf(shown);
  if (shown.details.silent) return code;
  const { stderr, env } = context;
  if (wantsJson(options)) await stderr.write(`${terminalSafeJson(JSON.stringify({ error: shown }))}\n`);
  else await stderr.write(textLines(shown, (await loadStyle(stderr, env, options.color)).red));
  if (options.verbose && shown.kind === 'internal') await stderr.write(`${escapeControls(inspect(shown), '\n')}\n`);
  return code;
}

export function exitCodeOf({ kind, details }: PetstoreError): number {
  return details.exitCode ?? EXIT_CODES[kind].code;
}

function textLines(error: PetstoreError, red: (text: string) => string): string {
  // Print only the service's own code, which comes with a status.
  const code = error.code === undefined || error.status === undefined ? '' : ` [${error.code}]`;
  const hint = error.hint === undefined ? '' : `hint: ${error.hint}\n`;
  return `${red('error:')} ${escapeControls(`${error.message}${code}\n${hint}`, '\n')}`;
}
