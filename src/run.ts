// Runs one command, from arguments to exit code.
import { CommanderError } from 'commander';
import type { Program } from './command.ts';
import { describeCommands, WELCOME } from './commands/help.ts';
import { PetstoreError } from './errors.ts';
import { escapeControls } from './escape.ts';
import type { Context } from './io.ts';
import { wrapParagraphs } from './output/wrap.ts';
import { createProgram } from './program.ts';
import { reportError } from './report-error.ts';
import type { ParseError } from './usage-error.ts';
import { usageError } from './usage-error.ts';

/** @returns the exit code (docs/cli.md, exit codes); nothing is thrown */
export async function run(context: Context): Promise<number> {
  const end = context.args.indexOf('--');
  const flags = end < 0 ? context.args : context.args.slice(0, end);
  const isJson = (flag: string, at: number): boolean =>
    flag === '--json' || flag === '--format=json' || (flag === '--format' && flags[at + 1] === 'json');
  const json = flags.some(isJson);
  const verbose = flags.includes('--verbose') || flags.includes('-v');
  const output: string[] = [];
  const program = createProgram(context, (text) => output.push(text));
  try {
    return await parseAndRun(program, output, json);
  } catch (error) {
    const profile = program.opts()['profile'];
    return await reportError(error, context, { profile, json, verbose, noColor: flags.includes('--no-color') });
  } finally {
    // What cannot be closed changes no result.
    for (const cleanup of context.cleanups) await cleanup().catch(() => undefined);
  }
}

async function parseAndRun(program: Program, output: string[], json: boolean): Promise<number> {
  const { args, stdout, version } = program.context;
  if (args.length === 0) {
    await stdout.write(wrapParagraphs(WELCOME, stdout.columns));
    return 0;
  }
  checkEncoding(args);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const { exitCode, code, command } = error as ParseError;
    if (exitCode !== 0) throw usageError(error as ParseError, args);
    const document = code === 'commander.version' ? { version } : describeCommands(command);
    if (json) output.splice(0, output.length, `${JSON.stringify(document)}\n`);
  }
  // A command has written its own result.
  if (output.length > 0) await stdout.write(output.join(''));
  return program.exitCode;
}

// Node replaces bytes that are not UTF-8, and the replacement would be sent as part of a name.
function checkEncoding(args: readonly string[]): void {
  const broken = args.find((arg) => arg.includes('\ufffd'));
  if (broken === undefined) return;
  const message = `argument "${escapeControls(broken.slice(0, 40))}" is not valid UTF-8`;
  throw new PetstoreError('usage', message, { hint: 'check the encoding of the terminal or script' });
}
