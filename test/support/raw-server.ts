// Servers that send raw bytes, for responses that an HTTP library cannot send.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { ReceivedRequest } from './http-fake.ts';

/** Starts a server on a free port of 127.0.0.1; `close` closes its connections. */
export async function startTcpServer(onConnection: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    connections: () => sockets.size,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

export type RawServer = Awaited<ReturnType<typeof startRawServer>>;

/** Starts an HTTP server whose responses are written to the socket; `requests` holds the complete requests. */
export async function startRawServer(onRequest: (socket: Socket, request: ReceivedRequest) => void) {
  const requests: ReceivedRequest[] = [];
  const receive = ({ method = '', url: path = '', headers, socket }: IncomingMessage, body: string): void => {
    requests.push({ method, path, headers, body });
    onRequest(socket, { method, path, headers, body });
  };
  const parser = createHttpServer(async (incoming) => receive(incoming, await text(incoming)));
  parser.on('connect', (incoming) => receive(incoming, ''));
  return { ...(await startTcpServer((socket) => void parser.emit('connection', socket))), requests };
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
