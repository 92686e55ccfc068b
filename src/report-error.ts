// Prints an error to stderr: its message and hint as text, or one line of JSON.
import { inspect } from 'node:util';
import type { Context } from './context.ts';
import type { Hint, PetstoreError } from './errors.ts';
import { rephrase, toPetstoreError } from './errors.ts';
import { escapeControls, terminalSafeJson } from './escape.ts';
import { loadStyle } from './output/render.ts';
import type { Credentials } from './profiles/credentials.ts';
import { stateDirIfAny } from './profiles/paths.ts';
import { withoutTypedKeys } from './redact.ts';
import type { GlobalOptions } from './reference.ts';
import { createCommandFormatter } from './shell-quote.ts';

interface HintOptions {
  /** The value of `--profile`, which the commands of hints repeat. */
  readonly profile?: string | undefined;
  /** Where the key came from, if the command found one. */
  readonly target?: Credentials | undefined;
}

type ReportOptions = HintOptions & Pick<GlobalOptions, 'json' | 'verbose' | 'color'>;

/**
 * Accepts any thrown value.
 * @returns the exit code (docs/cli.md, exit codes)
 */
export async function reportError(error: unknown, context: Context, options: ReportOptions): Promise<number> {
  const shown = completeHint(toPetstoreError(error, stateDirIfAny(context)), context, options);
  if (shown.facts.silent) return shown.exitCode;
  const { stderr, env } = context;
  const { red } = await loadStyle(stderr, env, options.color);
  const json = `${terminalSafeJson(JSON.stringify({ error: shown }))}\n`;
  await stderr.write(options.json ? json : textLines(shown, red));
  if (options.verbose && shown.kind === 'internal') await stderr.write(`${escapeControls(inspect(shown), '\n')}\n`);
  return shown.exitCode;
}

/** Names the command or the source of the key in the hint, and redacts a key that was typed in place of another argument. */
export function completeHint(error: PetstoreError, context: Context, { profile, target }: HintOptions): PetstoreError {
  const { kind, message } = error;
  const { hint, command } = kind === 'auth' && error.status === 401 && target ? keyHint(target) : error.facts;
  const formatCommand = createCommandFormatter(context, profile);
  const full = command ? `run ${formatCommand(...command)} to ${hint}` : hint;
  if (kind !== 'usage') return rephrase(error, message, full);
  return rephrase(error, withoutTypedKeys(message, context.args), full && withoutTypedKeys(full, context.args));
}

// The action that replaces a rejected key.
function keyHint({ profile, keySource, keyCommand }: Credentials): Hint {
  if (keySource === 'environment') return { hint: 'set PETSTORE_API_KEY to a valid key' };
  if (keyCommand) return { hint: `make the key command from ${keyCommand.source} print a valid key` };
  return { hint: 'save a valid key', command: ['auth', 'login', '-p', profile] };
}

function textLines(error: PetstoreError, red: (text: string) => string): string {
  const code = error.code === undefined || error.message.includes(error.code) ? '' : ` [${error.code}]`;
  const hint = error.hint === undefined ? '' : `hint: ${error.hint}\n`;
  return `${red('error:')} ${escapeControls(`${error.message}${code}\n${hint}`, '\n')}`;
}
