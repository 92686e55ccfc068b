// Runs a command that prints the API key: `pass`, `op`, a keychain or a vault.
import type { ExecFileException } from 'node:child_process';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PetstoreError, systemHint, systemReason } from '../../errors.ts';
import { checkKey } from '../../settings/credential-rules.ts';
import { escapeControls } from '../../text/escape.ts';
import { formatDuration } from '../../text/format.ts';
import type { Context } from '../context.ts';
import type { KeyCommand } from './key-command-line.ts';
import { correctionHint, hasShellSyntax, parseKeyCommand, programOf } from './key-command-line.ts';

export type KeyCommandContext = Pick<Context, 'env' | 'signal' | 'redactor' | 'stderr' | 'platform'>;

/**
 * Runs the command without a shell; its stdin is empty, so that it cannot consume the input of a loop. Its stderr is shown
 * after it has ended, when a key in it can be redacted.
 * @param timeout in milliseconds
 * @returns the first line of its stdout
 * @throws PetstoreError `auth` if it fails, times out or prints no valid key, `interrupted`
 */
export async function runKeyCommand(
  command: KeyCommand,
  { env: all, signal, redactor, stderr, platform }: KeyCommandContext,
  timeout = 30_000,
): Promise<string> {
  const { PETSTORE_API_KEY: _key, PETSTORE_STATE_PASSWORD: _password, PETSTORE_STATE_URL: _url, ...env } = all;
  const output = await execute(parseKeyCommand(command), { env, signal, timeout });
  signal.throwIfAborted();
  const [key = ''] = output.stdout.replace(/^\ufeff/, '').split(/\r?\n/, 1);
  if (/^[\x21-\x7e]+$/.test(key)) redactor.add(key);
  if (output.stderr !== '') await stderr.write(`${escapeControls(output.stderr.replace(/\n$/, ''), '\n')}\n`);

  const name = `key command \`${escapeControls(programOf(command))}\``;
  const why = output.error && failureReason(output.error, timeout);
  // Windows runs a .cmd file only in a shell.
  const needsShell = hasShellSyntax(command) || (platform === 'win32' && why === NOT_FOUND);
  const shell = platform === 'win32' ? 'cmd /c COMMAND' : "sh -c 'COMMAND'";
  const hint = needsShell ? `use \`${shell}\` to run it in a shell` : correctionHint(command);
  if (why) throw new PetstoreError('auth', `${name} failed (${why})`, { hint: systemHint(output.error) ?? hint });
  if (key === '') throw new PetstoreError('auth', `${name} printed nothing`, { hint });
  return checkKey(key, name, hint);
}

async function execute([program = '', ...args]: readonly string[], options: object) {
  try {
    const running = promisify(execFile)(program, args, { ...options, killSignal: 'SIGKILL', windowsHide: true });
    running.child.stdin?.end();
    return { ...(await running), error: undefined };
  } catch (caught) {
    const error = caught as ExecFileException;
    return { stdout: error.stdout ?? '', stderr: error.stderr ?? '', error };
  }
}

const NOT_FOUND = 'command not found';

function failureReason(error: ExecFileException, timeout: number): string {
  const { killed, code, signal } = error;
  if (killed) return `timed out after ${formatDuration(timeout)}`;
  if (typeof code === 'number' || signal) return `exit code ${code ?? signal}`;
  // Windows reports EINVAL for a .cmd file.
  if (code === 'ENOENT' || code === 'EINVAL') return NOT_FOUND;
  return code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER' ? 'it printed more than 1 MiB' : systemReason(error);
}
