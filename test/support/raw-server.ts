// A server that sends raw bytes, for responses that no HTTP library would send.
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';

/** One request as it came in. */
export interface RawRequest {
  readonly method: string;
  /** As in the request line. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** The server's behavior; every part is optional. */
export interface Script {
  /** Called after a connection, before a request is read. If it returns true, no request is read. */
  onConnect?(socket: Socket): boolean;
  /** Called after a head, before the body is read. If it returns true, the body is not read. */
  onHead?(socket: Socket, request: RawRequest): boolean;
  /** A whole request has been read. */
  onRequest?(socket: Socket, request: RawRequest): void;
}

/** A running server. */
export interface RawServer {
  readonly origin: string;
  readonly port: number;
  /** Every request whose head was read, in order. */
  readonly requests: RawRequest[];
  /** How many connections were made. */
  connections(): number;
  close(): void;
}

/**
 * Starts a raw server on a free port of 127.0.0.1.
 * @param script the server's behavior
 * @returns the server; `close` cuts open connections
 */
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
  let headTold = false;
  let over = false;
  socket.on('data', (chunk) => {
    if (over) return;
    seen += chunk.toString('latin1');
    const end = seen.indexOf('\r\n\r\n');
    if (end < 0) return;
    const request = parse(seen, end);
    if (!headTold) {
      headTold = true;
      requests.push(request);
      over = script.onHead?.(socket, request) === true;
    }
    if (over || request.body.length < Number(request.headers.get('content-length') ?? 0)) return;
    requests[requests.length - 1] = request;
    [seen, headTold] = ['', false];
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
 * @param status the status line after the protocol, for example `200 OK`
 * @param body the body; its length is sent
 * @param more further header lines
 * @returns a whole response
 */
export function response(status: string, body: string | Buffer, ...more: string[]): Buffer {
  const bytes = Buffer.from(body);
  const lines = [`HTTP/1.1 ${status}`, 'Content-Type: application/json', `Content-Length: ${bytes.length}`, ...more];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
}
