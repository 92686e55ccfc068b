// How an answer goes out: as it should, or the way a fault breaks it.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import type { FaultRule } from './faults.ts';
import type { SandboxResponse } from './response.ts';

/** An answer with every header it goes out with. */
export interface OutgoingResponse {
  readonly response: ServerResponse;
  readonly answer: SandboxResponse;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Sends an answer.
 * @param parcel what to send
 * @param fault what goes wrong, if anything
 * @param clock paces slow answers
 * @param signal ends them
 * @returns resolves when everything is handed over
 */
export async function sendResponse(
  parcel: OutgoingResponse,
  fault: FaultRule | undefined,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const { response, answer, headers } = parcel;
  const { socket } = response;
  if (!socket || socket.destroyed) return;
  switch (fault?.kind) {
    case 'reset':
    case 'reset-after-commit':
      socket.resetAndDestroy();
      return;
    case 'lost-reply':
      socket.destroy();
      return;
    case 'hang':
      return;
    case 'truncate':
      return truncate(parcel, socket);
    case 'garbage':
      return send({ ...parcel, answer: { ...answer, body: GARBAGE } }, GARBAGE.length);
    case 'wrong-length':
      return send({ ...parcel, headers: { ...headers, Connection: 'close' } }, Math.max(0, answer.body.length - 5));
    case 'slow-headers':
      return dribble(parcel, socket, fault.ms, clock, signal);
    default:
      return send(parcel, answer.body.length);
  }
}

// Neither JSON nor UTF-8.
const GARBAGE = Buffer.from('<\u0000\u001b[31mthis is no JSON\u00ff>', 'latin1');

function send({ response, answer, headers }: OutgoingResponse, length: number): void {
  response.writeHead(answer.status, { ...headers, 'Content-Length': String(length) });
  response.end(answer.body);
}

function truncate({ response, answer, headers }: OutgoingResponse, socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    response.writeHead(answer.status, { ...headers, 'Content-Length': String(answer.body.length) });
    response.write(answer.body.subarray(0, Math.floor(answer.body.length / 2)), () => {
      socket.destroySoon();
      resolve();
    });
  });
}

const PIECES = 10;

async function dribble(
  parcel: OutgoingResponse,
  socket: Socket,
  ms: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const { answer, headers } = parcel;
  const head = rawHead(answer.status, {
    ...headers,
    'Content-Length': String(answer.body.length),
    Connection: 'close',
  });
  const size = Math.ceil(head.length / PIECES);
  for (let at = 0; at < head.length && !socket.destroyed; at += size) {
    socket.write(head.slice(at, at + size));
    await clock.sleep(ms / PIECES, signal);
  }
  socket.end(answer.body);
}

/**
 * @param status the HTTP status
 * @param headers every header
 * @returns the head of a response as it goes over the wire
 */
export function rawHead(status: number, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${REASONS[status] ?? 'Unknown'}\r\n${lines.join('')}\r\n`;
}

const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
};
