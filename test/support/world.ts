// Runs a command in the test process, with recorded outputs.
import { join } from 'node:path';
import { WriteStream } from 'node:tty';
import { onTestFinished } from 'vitest';
import type { Context, Output } from '../../src/cli/context.ts';
import { run } from '../../src/cli/program.ts';
import type { Clock } from '../../src/clock.ts';
import { systemClock } from '../../src/clock.ts';
import { Redactor } from '../../src/text/redact.ts';
import type { FakeResponse, ReceivedRequest } from './http-fake.ts';
import { startHttpFake } from './http-fake.ts';
import { tempDir } from './temp-dir.ts';

export interface WorldOptions {
  readonly env?: Record<string, string>;
  readonly clock?: Clock;
  readonly stdin?: string | Uint8Array;
  /** Width of the terminal in cells; without it, the outputs are pipes. */
  readonly columns?: number;
  readonly signal?: AbortSignal;
  /** By default `process.platform`. */
  readonly platform?: string;
  /** The directory of config and state, by default a new one. */
  readonly dir?: string;
}

interface Recorder extends Output {
  readonly text: () => string;
}

// The part of a terminal that ora needs.
function rawTerminal(columns: number, write: (text: string) => void): WriteStream {
  return Object.create(WriteStream.prototype, {
    isTTY: { value: true },
    columns: { value: columns },
    write: { value: write, writable: true },
  }) as WriteStream;
}

function recorder(columns: number | undefined, redactor?: Redactor): Recorder {
  let all = '';
  const write = (text: string | Uint8Array): void => {
    const whole = typeof text === 'string' ? text : Buffer.from(text).toString();
    all += redactor?.redact(whole) ?? whole;
  };
  return {
    isTTY: columns !== undefined,
    columns,
    ...(columns !== undefined && { raw: rawTerminal(columns, write) }),
    text: () => all,
    write: async (text) => write(text),
  };
}

export function world(
  args: readonly string[],
  options: WorldOptions = {},
): Context & { stdout: Recorder; stderr: Recorder } {
  const { dir = tempDir(), stdin, columns } = options;
  const redactor = new Redactor();
  let isRead = false;
  return {
    args,
    env: {
      HOME: dir,
      PETSTORE_CONFIG_DIR: join(dir, 'config'),
      PETSTORE_STATE_DIR: join(dir, 'state'),
      ...options.env,
    },
    cwd: dir,
    platform: options.platform ?? process.platform,
    nodeVersion: process.versions.node,
    homeDir: dir,
    version: '1.0.0',
    stdin: {
      isTTY: stdin === undefined && columns !== undefined,
      get isRead() {
        return isRead;
      },
      async *read() {
        isRead = true;
        if (stdin !== undefined) yield typeof stdin === 'string' ? new TextEncoder().encode(stdin) : stdin;
      },
    },
    stdout: recorder(columns),
    stderr: recorder(columns, redactor),
    clock: options.clock ?? systemClock,
    signal: options.signal ?? new AbortController().signal,
    interrupt: () => undefined,
    suspend: () => undefined,
    redactor,
    cleanups: [],
  };
}

export async function inProcess(
  args: readonly string[],
  options: WorldOptions = {},
): Promise<{ code: number; out: string; err: string }> {
  const context = world(args, options);
  const code = await run(context);
  return { code, out: context.stdout.text(), err: context.stderr.text() };
}

/** Starts a service that is closed at the end of the test; `env` is the environment of commands that use it. */
export async function serving(respond: (request: ReceivedRequest) => FakeResponse | Promise<FakeResponse>) {
  const service = await startHttpFake(respond);
  onTestFinished(service.close);
  return { ...service, env: { PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY: 'sk_secret_0123456789abcdef' } };
}
