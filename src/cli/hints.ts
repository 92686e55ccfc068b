// The hints that name a command, an option or a variable, by the reason of an error.
import type { PetstoreError } from '../errors.ts';
import { rephrase } from '../errors.ts';
import { stateDirIfAny } from '../settings/paths.ts';
import { redactTypedKeys } from '../text/redact.ts';
import type { Context } from './context.ts';
import { formatCommand } from './shell-quote.ts';

/**
 * Words the hint, and redacts a key that was typed in place of another argument.
 * @param profile the value of `--profile`, which a command in the hint repeats
 */
export function withHint(error: PetstoreError, context: Context, profile: string | undefined): PetstoreError {
  const { kind, message } = error;
  const hint = hintOf(error, context, profile);
  const shown = (words: string): string => (kind === 'usage' ? redactTypedKeys(words) : words);
  return rephrase(error, shown(message), { hint: hint && shown(hint) });
}

function hintOf(
  { kind, hint, details: { reason } }: PetstoreError,
  context: Context,
  profile: string | undefined,
): string | undefined {
  const format = (words: readonly string[]): string => formatCommand(words, profile, context);
  switch (reason?.is) {
    case undefined:
      return kind === 'internal' ? 'run the command again with --verbose and report the output' : hint;
    case 'needs_id':
      return 'use --id instead of the name';
    case 'extra_fields':
      return IGNORE_EXTRA;
    case 'import_ended':
      // Rows from a pipe cannot be read again.
      if (context.stdin.isRead) return `run the same command with the same rows to ${reason.to}`;
      return `run ${format(context.args)} to ${reason.to}`;
    case 'long_wait':
      return 'use a longer --max-wait';
    case 'no_access':
      return hint ?? (isState(reason.path, context) ? writableHint('PETSTORE_STATE_DIR') : undefined);
    case 'no_category':
      return `run ${format(['categories', 'list'])} to ${hint}`;
    case 'no_connection':
      return `run ${format(['doctor'])} to ${hint}`;
    case 'timed_out':
      return 'try again with a longer --timeout';
    case 'unknown_create':
      return `run ${format(['categories', 'list', ...search(reason.category)])} to ${hint}`;
    case 'unknown_host':
    case 'wrong_service':
      if (profile !== undefined || !context.env['PETSTORE_BASE_URL'])
        return `run ${format(['auth', 'status'])} to ${hint}`;
      return reason.is === 'unknown_host' ? 'check the host name in PETSTORE_BASE_URL' : 'check PETSTORE_BASE_URL';
  }
}

/** The hint of unknown columns or fields. */
export const IGNORE_EXTRA = 'use --ignore-extra to ignore unknown columns and fields';

/** @param variable sets the directory that cannot be used */
export function writableHint(variable: string): string {
  return `set ${variable} to a directory that you can write to`;
}

// Whether a path is in the state directory, or is a parent of this directory.
function isState(path: string, context: Context): boolean {
  const dir = stateDirIfAny(context);
  return dir !== undefined && (path.startsWith(dir) || dir.startsWith(path));
}

// Searches only for text that neither a shell nor the service is likely to alter; after `=`, a leading dash looks like no option.
function search(category: string): readonly string[] {
  const name = category.trim();
  if (!/^[^\p{Cc}]{1,60}$/u.test(name)) return [];
  return name.startsWith('-') ? [`--search=${name}`] : ['--search', name];
}
