// A server that sends raw bytes, for responses that an HTTP library cannot send.
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { Readable } from 'node:stream';

export interface RawRequest {
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface Script {
  /** Called for each connection; if it returns true, no request is read. */
  onConnect?(socket: Socket): boolean;
  /** Called for each request head; if it returns true, the body is not read. */
  onHead?(socket: Socket, request: RawRequest): boolean;
  /** Called for each complete request. */
  onRequest?(socket: Socket, request: RawRequest): void;
}

export interface RawServer {
  readonly origin: string;
  readonly port: number;
  /** The requests whose head was read. */
  readonly requests: RawRequest[];
  connections(): number;
  close(): void;
}

/** Starts a server on a free port of 127.0.0.1; `close` closes its connections. */
export async function startRawServer(script: Script): Promise<RawServer> {
  const requests: RawRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    if (script.onConnect?.(socket)) return;
    serve(socket, script, requests);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    requests,
    connections: () => connections,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

function serve(socket: Socket, script: Script, requests: RawRequest[]): void {
  let seen = '';
  let headRead = false;
  let over = false;
  socket.on('data', (chunk) => {
    if (over) return;
    seen += chunk.toString('latin1');
    const end = seen.indexOf('\r\n\r\n');
    if (end < 0) return;
    const request = parse(seen, end);
    if (!headRead) {
      headRead = true;
      requests.push(request);
      over = script.onHead?.(socket, request) === true;
    }
    if (over || request.body.length < Number(request.headers.get('content-length') ?? 0)) return;
    requests[requests.length - 1] = request;
    [seen, headRead] = ['', false];
    script.onRequest?.(socket, request);
  });
}

function parse(raw: string, end: number): RawRequest {
  const [line = '', ...lines] = raw.slice(0, end).split('\r\n');
  const [method = '', path = ''] = line.split(' ');
  const headers = new Map(
    lines.map((one) => {
      const colon = one.indexOf(':');
      return [one.slice(0, colon).toLowerCase(), one.slice(colon + 1).trim()] as const;
    }),
  );
  return { method, path, headers, body: raw.slice(end + 4) };
}

/**
 * @param status for example `200 OK`
 * @param more further header lines
 */
export function response(status: string, body: string | Buffer, ...more: string[]): Buffer {
  const bytes = Buffer.from(body);
  const lines = [`HTTP/1.1 ${status}`, 'Content-Type: application/json', `Content-Length: ${bytes.length}`, ...more];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
}

/** Sends this many MiB of spaces, as fast as the client reads, and ends the connection. */
export function flood(socket: Socket, mebibytes = Number.POSITIVE_INFINITY): void {
  const chunk = Buffer.alloc(1024 * 1024, ' ');
  function* chunks(): Generator<Buffer> {
    for (let sent = 0; sent < mebibytes; sent++) yield chunk;
  }
  Readable.from(chunks()).pipe(socket);
}
