// Runs a command that prints the API key: `pass`, `op`, a keychain or a vault.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { parseArgsStringToArgv } from 'string-argv';
import type { Context } from '../context.ts';
import { PetstoreError, systemReason } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { checkKey, LONGEST_KEY } from './credential-rules.ts';

const TIMEOUT_MS = 30_000;
/** Time to read the rest of the output after the command ended, since a background process may keep the pipes open. */
const DRAIN_MS = 200;
const MAX_STDERR = 64 * 1024;

/** What a key command uses of the process. */
export type KeyCommandContext = Pick<Context, 'env' | 'clock' | 'signal' | 'redactor' | 'stderr'>;

/**
 * Runs the command without a shell; its stdin is empty, so that it cannot consume the input of a loop. Its stderr is shown
 * after it has ended, when a key in it can be redacted.
 * @returns the first line of its stdout
 * @throws PetstoreError `auth` if it fails, takes longer than 30 s or prints no valid key, `interrupted`
 */
export async function runKeyCommand(commandLine: string, from: string, context: KeyCommandContext): Promise<string> {
  const [program = '', ...args] = parseKeyCommand(commandLine, from);
  const { clock, signal, redactor } = context;
  const { PETSTORE_API_KEY: _key, PETSTORE_STATE_PASSWORD: _password, PETSTORE_STATE_URL: _url, ...env } = context.env;
  signal.throwIfAborted();
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
  const stdout = collect(child.stdout, LONGEST_KEY + 2);
  const stderr = collect(child.stderr, MAX_STDERR);
  const ended = new AbortController();
  const pause = (ms: number) => clock.sleep(ms, AbortSignal.any([ended.signal, signal]));
  try {
    const closed = once(child, 'close').catch(() => undefined);
    const exited = once(child, 'exit').then(
      ([code, killedBy]) => (code === 0 ? undefined : `exit code ${code ?? killedBy}`),
      (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? 'command not found' : systemReason(error)),
    );
    const failure = await Promise.race([exited, pause(TIMEOUT_MS).then(() => 'no key within 30s')]);
    await Promise.race([closed, pause(DRAIN_MS)]);
    const [key = ''] = stdout()
      .replace(/^\ufeff/, '')
      .split(/\r?\n/, 1);
    if (/^[\x21-\x7e]+$/.test(key)) redactor.add(key);
    const shown = escapeControls(stderr(), '\n');
    if (shown !== '') await context.stderr.write(shown.endsWith('\n') ? shown : `${shown}\n`);
    if (failure === undefined) return checkKey(key, `the key command from ${from}`, hintFor(from));
    // The message names the program only: its arguments may contain a token.
    const message = `key command \`${escapeControls(program)}\` failed (${failure})`;
    throw new PetstoreError('auth', message, { hint: hintFor(from) });
  } finally {
    ended.abort();
    child.kill('SIGKILL');
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/**
 * Splits a command line into words, without a shell.
 * @throws PetstoreError `auth` if it is empty
 */
export function parseKeyCommand(commandLine: string, from: string): string[] {
  const words = parseArgsStringToArgv(commandLine);
  if (words.length > 0) return words;
  throw new PetstoreError('auth', `the key command from ${from} is empty`, { hint: hintFor(from) });
}

const hintFor = (from: string): string => `correct the key command from ${from} so that it prints only the API key`;

// Reads everything, since a full pipe would block the command, but keeps only the beginning.
function collect(stream: Readable, characters: number): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    if (text.length < characters) text = (text + chunk).slice(0, characters);
  });
  return () => text;
}
