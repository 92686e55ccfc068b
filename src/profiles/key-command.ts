// Runs a command that prints the API key: `pass`, `op`, a keychain or a vault.
import { spawn } from 'node:child_process';
import { parseArgsStringToArgv } from 'string-argv';
import type { Clock } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import type { Environment } from '../io.ts';
import { LONGEST_KEY } from './credential-rules.ts';

const TIMEOUT_MS = 30_000;

export interface KeyCommandContext {
  /** Must not contain secrets: the command inherits it. */
  readonly env: Environment;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Receives the command's stderr as it arrives. */
  readonly onStderr: (text: string) => void;
}

/**
 * Runs the command without a shell; its stdin is empty, so that it cannot consume the input of a loop.
 * @returns the first line of its stdout, unchecked
 * @throws PetstoreError `auth` where it fails or takes longer than 30 s, `interrupted`
 */
export async function runKeyCommand(commandLine: string, from: string, context: KeyCommandContext): Promise<string> {
  const [file, ...args] = parseArgsStringToArgv(commandLine);
  if (file === undefined) {
    throw new PetstoreError('auth', `the key command from ${from} is empty`, {
      hint: 'set a command that prints the API key',
    });
  }
  const { env, clock, signal, onStderr } = context;
  signal.throwIfAborted();
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (output.length <= LONGEST_KEY) output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => onStderr(escapeControls(text, '\n')));
  const ended = new AbortController();
  try {
    const failure = await Promise.race([
      new Promise<string | undefined>((resolve) => {
        child.on('error', (error: NodeJS.ErrnoException) => resolve(startFailure(error)));
        child.on('close', (code, killedBy) => resolve(code === 0 ? undefined : `exit code ${code ?? killedBy}`));
      }),
      clock.sleep(TIMEOUT_MS, AbortSignal.any([ended.signal, signal])).then(() => 'no key within 30s'),
    ]);
    if (failure === undefined) return output.replace(/^\ufeff/, '').split(/\r?\n/, 1)[0] ?? '';
    throw new PetstoreError('auth', `key command "${escapeControls(commandLine)}" failed (${failure})`, {
      hint: 'run the command yourself to see why; it must print the API key on the first line',
    });
  } finally {
    ended.abort();
    child.kill('SIGKILL');
    // A grandchild may keep the pipes open.
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

function startFailure({ code }: NodeJS.ErrnoException): string {
  return code === 'ENOENT' ? 'command not found' : code === 'EACCES' ? 'permission denied' : `${code}`;
}
