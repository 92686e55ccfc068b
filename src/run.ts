// Runs one command, from arguments to exit code, and reports what went wrong: as text, or as one line of JSON.
import { CommanderError } from 'commander';
import { WELCOME } from './commands/help.ts';
import { PetstoreError, withCommands } from './errors.ts';
import { escapeControls, terminalSafeJson } from './escape.ts';
import type { Context } from './io.ts';
import { colorLevel } from './io.ts';
import { wrap } from './output/wrap.ts';
import { createProgram } from './program.ts';
import { commandWriter } from './shell-quote.ts';
import type { ParseError } from './usage-error.ts';
import { usageError, withoutTypedKeys } from './usage-error.ts';

/** @returns the exit code (docs/cli.md, exit codes); nothing is thrown */
export async function run(context: Context): Promise<number> {
  const end = context.args.indexOf('--');
  const flags = end < 0 ? context.args : context.args.slice(0, end);
  const isJson = (flag: string, at: number): boolean =>
    flag === '--json' || flag === '--format=json' || (flag === '--format' && flags[at + 1] === 'json');
  const json = flags.some(isJson);
  const verbose = flags.includes('--verbose') || flags.includes('-v');
  try {
    return await parseAndRun(context, json);
  } catch (error) {
    const options = { json, verbose, noColor: flags.includes('--no-color') };
    return await reportError(withoutTypedKeys(error, context.args), context, options);
  } finally {
    await context.afterwards?.().catch(() => undefined);
    for (const cleanup of context.cleanups) await cleanup().catch(() => undefined);
  }
}

async function parseAndRun(context: Context, json: boolean): Promise<number> {
  const { args, stdout, version } = context;
  if (args.length === 0) {
    await stdout.write(WELCOME);
    return 0;
  }
  checkEncoding(args);
  let output = '';
  const program = createProgram(context, (text) => {
    output += text;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    await stdout.write(output);
    return 0;
  } catch (error) {
    const { exitCode, code } = error as ParseError;
    if (!(error instanceof CommanderError) || exitCode !== 0) {
      const known = error instanceof CommanderError ? usageError(error as ParseError, args) : error;
      const petstore = commandWriter(context, program.opts()['profile']);
      throw known instanceof PetstoreError ? withCommands(known, petstore) : known;
    }
    if (json && code === 'commander.version') output = `${JSON.stringify({ version })}\n`;
    await stdout.write(output);
    return 0;
  }
}

// Node replaces bytes that are not UTF-8, and the replacement would be stored as part of a name.
function checkEncoding(args: readonly string[]): void {
  const broken = args.find((arg) => arg.includes('\ufffd'));
  if (broken === undefined) return;
  const message = `argument "${escapeControls(broken.slice(0, 40))}" is not valid UTF-8`;
  throw new PetstoreError('usage', message, { hint: 'check the encoding of the terminal or script' });
}

interface ReportOptions {
  readonly json: boolean;
  readonly verbose: boolean;
  readonly noColor: boolean;
}

/** Accepts anything that was thrown. */
export async function reportError(error: unknown, context: Context, options: ReportOptions): Promise<number> {
  const known = error instanceof PetstoreError ? error : toKnownError(error);
  // Stopping the sandbox and answering no are not errors.
  if (known.message === '') return known.exitCode;
  const { stderr, env } = context;
  const color = colorLevel(stderr, env, options.noColor) > 0;
  await stderr.write(options.json ? jsonLine(known) : textLines(known, color, stderr.columns));
  if (options.verbose && known.kind === 'internal') await stderr.write(stackTrace(known));
  return known.exitCode;
}

// Third-party messages may contain secrets: only the error's name is printed without --verbose.
function toKnownError(error: unknown): PetstoreError {
  const storage = storageError(error);
  if (storage) return storage;
  const name = error instanceof Error ? error.name : typeof error;
  return new PetstoreError('internal', `unexpected ${name}`, {
    hint: 'this is a bug in petstore; run the command again with --verbose and report the output',
    cause: error,
  });
}

const FILE_OPERATION =
  /^(?:open|read|write|mkdir|unlink|rename|link|fsync|fdatasync|scandir|stat|lstat|fstat|chmod|close|ftruncate)$/;

function storageError(error: unknown): PetstoreError | undefined {
  const { code, syscall, path } = (error ?? {}) as NodeJS.ErrnoException;
  if (!/^E[A-Z]+$/.test(code ?? '') || !FILE_OPERATION.test(syscall ?? '')) return undefined;
  const where = path === undefined ? 'a file' : escapeControls(path);
  return new PetstoreError('storage', `cannot ${syscall} ${where} (${code})`, {
    hint: "check the folder's permissions and free space",
    cause: error,
  });
}

function jsonLine(error: PetstoreError): string {
  return `${terminalSafeJson(JSON.stringify({ error }))}\n`;
}

function textLines(error: PetstoreError, color: boolean, columns: number | undefined): string {
  const code = error.code === undefined || error.message.includes(error.code) ? '' : ` [${error.code}]`;
  const text = `error: ${error.message}${code}\n${error.hint === undefined ? '' : `hint: ${error.hint}\n`}`;
  // A terminal wraps between words; a pipe receives whole lines.
  const lines = escapeControls(text, '\n').split('\n');
  const shown = lines.map((line) => wrap(line, columns)).join('\n');
  return color ? shown.replace('error:', '\u001b[31merror:\u001b[39m') : shown;
}

function stackTrace(error: PetstoreError): string {
  const lines = [error.stack ?? ''];
  for (let { cause } = error; cause instanceof Error; { cause } = cause) {
    lines.push(`caused by ${cause.stack ?? cause.message}`);
  }
  return `${escapeControls(lines.join('\n'), '\n')}\n`;
}
