// Runs a command that prints the API key: `pass`, `op`, a keychain or a vault.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { parseArgsStringToArgv } from 'string-argv';
import { PetstoreError, systemHint, systemReason } from '../../errors.ts';
import { checkKey, MAX_KEY_LENGTH } from '../../settings/credential-rules.ts';
import { escapeControls } from '../../text/escape.ts';
import { looksLikeKey } from '../../text/redact.ts';
import type { Context } from '../context.ts';

const TIMEOUT_MS = 30_000;
/** Time to read the rest of the output after the command has ended, since a background process may keep the pipes open. */
const DRAIN_MS = 200;
const MAX_STDERR = 64 * 1024;

export type KeyCommandContext = Pick<Context, 'env' | 'clock' | 'signal' | 'redactor' | 'stderr' | 'platform'>;

/**
 * Runs the command without a shell; its stdin is empty, so that it cannot consume the input of a loop. Its stderr is shown
 * after it has ended, when a key in it can be redacted.
 * @param source the option, variable or profile that contains the command
 * @returns the first line of its stdout
 * @throws PetstoreError `auth` if it fails, takes longer than 30 s or prints no valid key, `interrupted`
 */
export async function runKeyCommand(commandLine: string, source: string, context: KeyCommandContext): Promise<string> {
  const [program = '', ...args] = parseKeyCommand(commandLine, source);
  const { clock, signal, redactor, platform } = context;
  // Messages name the program only: its arguments may contain a token.
  const name = `key command \`${escapeControls(program)}\``;
  const inShell = `use \`${platform === 'win32' ? 'cmd /c COMMAND' : "sh -c 'COMMAND'"}\` to run it in a shell`;
  const hint = needsShell(commandLine) ? inShell : `correct ${source}`;
  const outputHint = needsShell(commandLine) ? inShell : `correct ${source} so that it prints only the API key`;
  const failed = (why: string, action = hint) => new PetstoreError('auth', `${name} failed (${why})`, { hint: action });
  const notStarted = (error: unknown): PetstoreError => {
    const { code = '' } = error as NodeJS.ErrnoException;
    // Windows reports EINVAL for a .cmd file, which cmd.exe runs.
    if (!/^(?:ENOENT|EINVAL)$/.test(code)) return failed(systemReason(error), systemHint(error) ?? hint);
    if (looksLikeKey(program)) return misplacedKeyError(source);
    return failed('command not found', platform === 'win32' ? inShell : hint);
  };
  signal.throwIfAborted();
  const child = await start(program, args, context.env, notStarted);
  const stdout = collect(child.stdout, MAX_KEY_LENGTH + 2);
  const stderr = collect(child.stderr, MAX_STDERR);
  const ended = new AbortController();
  const pause = (ms: number) => clock.sleep(ms, AbortSignal.any([ended.signal, signal]));
  try {
    const closed = once(child, 'close').catch(() => undefined);
    const exited = once(child, 'exit').then(
      ([code, killedBy]) => (code === 0 ? undefined : `exit code ${code ?? killedBy}`),
      (error: unknown) => Promise.reject(notStarted(error)),
    );
    const failure = await Promise.race([exited, pause(TIMEOUT_MS).then(() => 'no key within 30s')]);
    await Promise.race([closed, pause(DRAIN_MS)]);
    const [key = ''] = stdout()
      .replace(/^\ufeff/, '')
      .split(/\r?\n/, 1);
    if (/^[\x21-\x7e]+$/.test(key)) redactor.add(key);
    const shown = escapeControls(stderr(), '\n');
    if (shown !== '') await context.stderr.write(shown.endsWith('\n') ? shown : `${shown}\n`);
    if (failure !== undefined) throw failed(failure);
    if (key === '') throw new PetstoreError('auth', `${name} printed nothing`, { hint: outputHint });
    return checkKey(key, name, outputHint);
  } finally {
    ended.abort();
    child.kill('SIGKILL');
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/**
 * Splits a command line into words, without a shell.
 * @throws PetstoreError `auth` if it is empty or an API key
 */
export function parseKeyCommand(commandLine: string, source: string): string[] {
  const words = parseArgsStringToArgv(commandLine);
  if (/^(?:[spr]k|sandbox)_/.test(words[0] ?? '')) throw misplacedKeyError(source);
  if (words.length > 0) return words;
  throw new PetstoreError('auth', `${source} is empty`, { hint: `set ${source} to a command that prints the API key` });
}

/** Hints, by the source of the key command. */
const HINTS_FOR_A_KEY = new Map([
  ['--key-command', 'pipe the key to stdin'],
  ['PETSTORE_API_KEY_COMMAND', 'set PETSTORE_API_KEY to the key'],
]);

// The error must not contain the key.
function misplacedKeyError(source: string): PetstoreError {
  const hint = HINTS_FOR_A_KEY.get(source) ?? `correct ${source}`;
  return new PetstoreError('auth', `${source} looks like an API key`, { hint });
}

// Whether the command line uses shell syntax, but does not name a shell.
function needsShell(commandLine: string): boolean {
  const isShell = /^\S*(?:sh|cmd|powershell)(?:\.exe)?"?\s/i.test(commandLine);
  return !isShell && /[|$<>&`]/.test(commandLine);
}

async function start(
  program: string,
  args: readonly string[],
  all: Context['env'],
  notStarted: (error: unknown) => Error,
) {
  const { PETSTORE_API_KEY: _key, PETSTORE_STATE_PASSWORD: _password, PETSTORE_STATE_URL: _url, ...env } = all;
  try {
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
    // If no file descriptor is free, the child has no streams, and the event `error` reports it.
    if (!child.stdout) await once(child, 'spawn');
    return child;
  } catch (error) {
    // Some errors are thrown, such as ENOTDIR, and EINVAL for a .cmd file on Windows; the event `error` reports the others.
    throw notStarted(error);
  }
}

// Reads everything, since a full pipe would block the command, but keeps only the beginning.
function collect(stream: Readable, characters: number): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    if (text.length < characters) text = (text + chunk).slice(0, characters);
  });
  return () => text;
}
