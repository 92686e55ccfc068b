// Starts sandboxes for tests, and sends requests to them.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { ServerOptions } from '../../src/sandbox/server.ts';
import { startServer } from '../../src/sandbox/server.ts';
import { withChecksum } from '../../src/shared-log/framing.ts';
import { tempDir } from '../support/temp-dir.ts';

export const KEY = 'sandbox_test_key_alice';
export const OTHER_KEY = 'sandbox_test_key_bobby';

/** Writes a data file with these records and returns its path for `--data`. */
export function dataFileWith(...records: readonly object[]): string {
  const dir = tempDir();
  const lines = records.map((record) => `0 ${withChecksum(JSON.stringify(record))} .\n`);
  writeFileSync(join(dir, 'data.1.log'), `~\n${lines.join('')}`);
  return join(dir, 'data');
}

export interface CallOptions {
  /** Null sends no key. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export type SandboxResponse = Awaited<ReturnType<typeof send>>;

/** Starts a sandbox, by default with two keys, and closes it after the test. */
export async function startTestSandbox(options: Partial<ServerOptions> = {}) {
  const running = await startServer({ clock: systemClock, keys: [KEY, OTHER_KEY], ...options });
  onTestFinished(running.close);
  const call = (method: string, path: string, more: CallOptions = {}) => send(running.port, method, path, more);
  const create = (body: unknown, more: CallOptions = {}) => {
    const headers = { 'content-type': 'application/json', ...more.headers };
    return call('POST', '/v1/categories', { body: JSON.stringify(body), ...more, headers });
  };
  return { ...running, call, create, list: (more?: CallOptions) => call('GET', '/v1/categories', more) };
}

/** Sends a request to a sandbox on this port. */
export async function send(port: number, method: string, path: string, { key = KEY, headers, body }: CallOptions) {
  const authorization = key === null ? {} : { authorization: `Bearer ${key}` };
  const outgoing = request({ host: '127.0.0.1', port, method, path, headers: { ...authorization, ...headers } });
  outgoing.end(body);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  const content = await text(incoming);
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    text: content,
    // biome-ignore lint/suspicious/noExplicitAny: tests access any field
    get json(): any {
      return JSON.parse(content);
    },
  };
}

/** The bytes of a request to /v1/categories. */
export function rawRequest(port: number, method: string, body = ''): string {
  const headers = [
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${KEY}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  return `${method} /v1/categories HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${body}`;
}

/** Sends bytes and returns everything received until the connection closes; empty after a reset. */
export async function sendRaw(port: number, bytes: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.end(bytes);
  return await text(socket).catch(() => '');
}
