// One command from arguments to exit code: parse, act, tell what went wrong, do the endings.
import { CommanderError } from 'commander';
import { helpWidth, welcome } from './commands/help.ts';
import { describeCommands } from './commands/reference.ts';
import { PetstoreError } from './errors.ts';
import { jsonText } from './output/render.ts';
import { createProgram } from './program.ts';
import { withoutSecretKeys } from './redact.ts';
import { reportError } from './report-error.ts';
import type { Context } from './session.ts';
import { commandOf, keysIn, usageError } from './usage-error.ts';

/**
 * Runs one command.
 * @param context the world
 * @returns the exit code (contract, section 3); nothing is thrown
 */
export async function run(context: Context): Promise<number> {
  const flags = context.args.slice(0, endOfOptions(context.args));
  const telling = {
    json: flags.some(
      (flag, at) => flag === '--json' || flag === '--format=json' || (flag === '--format' && flags[at + 1] === 'json'),
    ),
    verbose: flags.includes('--verbose') || flags.includes('-v'),
    noColor: flags.includes('--no-color'),
  };
  try {
    return await attempt(context, telling.json);
  } catch (error) {
    return await reportError(withoutKeys(error, context.args), context, telling);
  } finally {
    for (const ending of context.cleanups) await ending().catch(() => undefined);
  }
}

// A key typed in the place of a name or a number is not repeated; a path is, since it is needed to find the mistake.
function withoutKeys(error: unknown, args: readonly string[]): unknown {
  if (!(error instanceof PetstoreError) || error.kind !== 'usage') return error;
  const keys = keysIn(args).filter((word) => !/\/|\.[a-z]{1,6}$/.test(word));
  const clean = (text: string): string =>
    withoutSecretKeys(keys.reduce((left, key) => left.replaceAll(wholeWord(key), '[redacted]'), text));
  const { message, hint, exitCode, cause } = error;
  if (clean(message) === message && clean(hint ?? '') === (hint ?? '')) return error;
  return new PetstoreError('usage', clean(message), { hint: hint && clean(hint), exitCode, cause });
}

// Not inside another word: a mistyped name is no key because it is the beginning of one that is listed.
function wholeWord(key: string): RegExp {
  return new RegExp(`(?<![\\w-])${key.replace(/[^\w]/g, '\\$&')}(?![\\w-])`, 'g');
}

function endOfOptions(args: readonly string[]): number {
  const at = args.indexOf('--');
  return at < 0 ? args.length : at;
}

async function attempt(context: Context, json: boolean): Promise<number> {
  if (context.args.length === 0) {
    await context.stdout.write(welcome(helpWidth(context.stdout.columns)));
    return 0;
  }
  let output = '';
  const program = createProgram(context, (text) => {
    output += text;
  });
  try {
    await program.parseAsync(context.args, { from: 'user' });
    return 0;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw usageError(error, context.args, program);
    if (json) {
      const { version } = context;
      const isHelp = error.code !== 'commander.version';
      const document = isHelp ? describeCommands(commandOf(context.args, program), version) : { version };
      output = `${jsonText(document, context.stdout.isTTY)}\n`;
    }
    await context.stdout.write(output);
    return 0;
  }
}
