// Faults between client and service, each as bytes on a socket, with the exit code it must cause.
import type { Socket } from 'node:net';
import type { RawRequest, RawServer } from '../support/raw-server.ts';
import { response, startRawServer } from '../support/raw-server.ts';

export interface Fault {
  /** Exit codes of a read and of a write. */
  readonly read: number;
  readonly write: number;
  /** True if only the timeout ends the request. */
  readonly timesOut?: boolean;
  /** The HTTP message is intact, so `petstore api` prints the body and succeeds. */
  readonly contentOnly?: boolean;
  /** The service created the category: an import finds it by a lookup and succeeds. */
  readonly commits?: boolean;
  /** An import ends with the exit code of a write and does not know whether the row was created. */
  readonly undecided?: boolean;
  /** Called when the head of a request has been read. */
  readonly onHead?: (socket: Socket) => void;
  /** Called when the request has been read; `healthy` is the response of a healthy service. */
  readonly onRequest?: (socket: Socket, healthy: Healthy) => void;
}

interface Healthy {
  readonly status: string;
  readonly body: string;
}

type Bytes = string | Buffer;
type Respond = (healthy: Healthy) => Bytes;

const send = (respond: Respond) => (socket: Socket, healthy: Healthy) => void socket.end(respond(healthy));
const noResponse = (onRequest: Fault['onRequest'], more: Partial<Fault> = {}): Fault => ({
  read: 6,
  write: 8,
  ...(onRequest && { onRequest }),
  ...more,
});
const timeout = (onRequest: (socket: Socket, healthy: Healthy) => void) => noResponse(onRequest, { timesOut: true });
const invalid = (respond: Respond): Fault => ({ read: 7, write: 8, onRequest: send(respond) });
const badContent = (respond: Respond): Fault => ({ ...invalid(respond), contentOnly: true });
const harmless = (respond: Respond): Fault => ({ read: 0, write: 0, commits: true, onRequest: send(respond) });
const errorStatus = (read: number, write: number, status: string, ...headers: string[]): Fault => {
  const body = JSON.stringify({ code: 'rejected', message: 'No.', status: Number.parseInt(status, 10) });
  return { read, write, onRequest: send(() => response(status, body, ...headers)) };
};
// A redirect does not say whether the row was created, and the lookup is redirected too.
const redirect = (status: string): Fault => ({
  read: 7,
  write: 7,
  undecided: true,
  onRequest: (socket) => {
    const target = `http://127.0.0.1:${socket.localPort}/elsewhere`;
    socket.end(response(status, '', `Location: ${target}`));
  },
});

const whole = ({ status, body }: Healthy, ...headers: string[]): Buffer => response(status, body, ...headers);
const head = ({ status }: Healthy, ...lines: string[]): string => `HTTP/1.1 ${status}\r\n${lines.join('\r\n')}\r\n\r\n`;
const reset = (socket: Socket): void => void socket.resetAndDestroy();

export const FAULTS: Readonly<Record<string, Fault>> = {
  'reset before the body': noResponse(undefined, { onHead: reset }),
  'reset after the request': noResponse(reset),
  'reset after the commit': noResponse(reset, { commits: true }),
  'no response': timeout(() => undefined),
  'stalled body': timeout((socket, healthy) => void socket.write(`${head(healthy, 'Content-Length: 999')}[{"id"`)),
  'body cut short': invalid((healthy) => head(healthy, 'Content-Length: 999') + healthy.body.slice(0, -4)),
  'no status line': invalid(() => 'SSH-2.0-OpenSSH_9.6\r\n\r\n'),
  'huge header': invalid((healthy) => whole(healthy, `X-Huge: ${'x'.repeat(300_000)}`)),
  'HTML page': badContent(({ status }) => response(status, '<!doctype html><title>Sign in</title>')),
  'redirect (302)': redirect('302 Found'),
  'internal error': errorStatus(7, 8, '500 Internal Server Error'),
  unauthorized: errorStatus(3, 3, '401 Unauthorized'),
  rejected: errorStatus(4, 4, '400 Bad Request'),
  'rate limited': errorStatus(5, 5, '429 Too Many Requests', 'Retry-After: 3600'),
  'early hints': harmless((healthy) =>
    Buffer.concat([Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'), whole(healthy)]),
  ),
  'kept open': { ...harmless(whole), onRequest: (socket, healthy) => void socket.write(whole(healthy)) },
};

/** Options for a run that meets a fault: no retries, and a timeout that only a hanging response reaches. */
export function faultOptions(fault?: Fault): string[] {
  return ['--json', '--max-retries', '0', '--max-wait', '1s', '--timeout', fault?.timesOut ? '150ms' : '20s'];
}

/**
 * Starts a service that has one category and injects one fault.
 * @param writesOnly true if reads get the responses of a healthy service
 */
export async function startFaulty(fault: Fault, writesOnly = false): Promise<RawServer> {
  const categories = [{ id: 1, name: 'cat' }];
  const isHealthy = (request: RawRequest): boolean => writesOnly && request.method === 'GET';
  return await startRawServer({
    onHead: (socket, request) => {
      if (!fault.onHead || isHealthy(request)) return false;
      fault.onHead(socket);
      return true;
    },
    onRequest: (socket, request) => {
      const healthy = healthyResponse(request, categories, fault.commits === true);
      if (isHealthy(request) || !fault.onRequest) socket.end(whole(healthy));
      else fault.onRequest(socket, healthy);
    },
  });
}

function healthyResponse(request: RawRequest, categories: { id: number; name: string }[], commits: boolean): Healthy {
  if (request.method === 'GET') return { status: '200 OK', body: JSON.stringify(categories) };
  const { name } = JSON.parse(Buffer.from(request.body, 'latin1').toString()) as { name: string };
  const created = { id: categories.length + 1, name };
  if (commits) categories.push(created);
  return { status: '201 Created', body: JSON.stringify(created) };
}
