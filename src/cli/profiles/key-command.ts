// Runs a command that prints the API key: `pass`, `op`, a keychain or a vault. Messages show only its program, since an
// argument may be a key.
import type { ExecFileException } from 'node:child_process';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { parseArgsStringToArgv } from 'string-argv';
import { PetstoreError, systemHint, systemReason } from '../../errors.ts';
import { checkKey } from '../../settings/credential-rules.ts';
import { escapeControls } from '../../text/escape.ts';
import { formatDuration } from '../../text/format.ts';
import type { Context } from '../context.ts';
import { SECRET_VARIABLES } from '../reference.ts';
import { PIPE_KEY } from './store.ts';

export interface KeyCommand {
  readonly line: string;
  /** The option, the variable or the profile that contains the command, for messages. */
  readonly source: string;
  /** The name of the profile in which the command is saved, if any. */
  readonly profile?: string;
}

/**
 * Runs the command without a shell; its stdin is empty, so that it cannot consume the input of a loop. Its stderr is shown
 * after it has ended, when a key in it can be redacted.
 * @param timeout in milliseconds
 * @returns the first line of its stdout
 * @throws PetstoreError `auth` if it fails, times out or prints no valid key, `interrupted`
 */
export async function runKeyCommand(command: KeyCommand, context: Context, timeout = 30_000): Promise<string> {
  const { signal, redactor, stderr } = context;
  const env = Object.fromEntries(Object.entries(context.env).filter(([name]) => !SECRET_VARIABLES.includes(name)));
  const output = await execute(parseKeyCommand(command), { env, signal, timeout });
  signal.throwIfAborted();
  const [key = ''] = output.stdout.replace(/^\ufeff/, '').split(/\r?\n/, 1);
  if (/^[\x21-\x7e]+$/.test(key)) redactor.add(key);
  if (output.stderr !== '') await stderr.write(`${escapeControls(output.stderr.replace(/\n$/, ''), '\n')}\n`);

  const name = `key command \`${escapeControls(programOf(command))}\``;
  const why = output.error && failureReason(output.error, timeout);
  const { source, profile } = command;
  const login = `run \`petstore auth login ${profile} --key-command COMMAND\` to replace the key command`;
  const hint = profile === undefined ? `correct ${source}` : login;
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

function failureReason(error: ExecFileException, timeout: number): string {
  const { killed, code, signal } = error;
  if (killed) return `timed out after ${formatDuration(timeout)}`;
  if (typeof code === 'number') return `exit code ${code}`;
  if (signal) return `signal ${signal}`;
  if (code === 'ENOENT') return 'command not found';
  return code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER' ? 'output larger than 1 MiB' : systemReason(error);
}

/** The program that the command runs. */
export function programOf({ line }: Pick<KeyCommand, 'line'>): string {
  return parseArgsStringToArgv(line)[0] ?? '';
}

/**
 * Splits the command into words, without a shell.
 * @throws PetstoreError `auth` if it is empty, incomplete or an API key
 */
export function parseKeyCommand({ line, source }: KeyCommand): string[] {
  const words = parseArgsStringToArgv(line);
  if (/^(?:[spr]k|sandbox)_/.test(words[0] ?? '')) {
    const hint = source === '--key-command' ? PIPE_KEY : 'set PETSTORE_API_KEY to the key';
    throw new PetstoreError('auth', `${source} looks like an API key`, { hint });
  }
  if (/["']/.test(line.replace(/"[^"]*"|'[^']*'/g, ''))) {
    throw new PetstoreError('auth', `${source} has an unclosed quote`, { hint: 'add the missing quote' });
  }
  if (words.length > 0) return words;
  throw new PetstoreError('auth', `${source} is empty`, { hint: `set ${source} to a command that prints the API key` });
}
