// Faults between client and service, each as bytes on a socket, with the exit codes that it must cause.
import type { Socket } from 'node:net';
import type { RawRequest, RawServer } from '../support/raw-server.ts';
import { response, startRawServer } from '../support/raw-server.ts';

export interface Fault {
  /** Exit codes of a read and of a create. */
  readonly read: number;
  readonly create: number;
  /** True if only the timeout ends the request. */
  readonly timesOut?: boolean;
  /** The service created the category: an import finds it by a lookup and succeeds. */
  readonly commits?: boolean;
  /** Called when the request has been read; `healthy` is the response of a healthy service. */
  readonly onRequest: (socket: Socket, healthy: Healthy) => void;
}

interface Healthy {
  readonly status: string;
  readonly body: string;
}

const whole = ({ status, body }: Healthy, ...headers: string[]): Buffer => response(status, body, ...headers);
const head = ({ status }: Healthy): string => `HTTP/1.1 ${status}\r\nContent-Length: 999\r\n\r\n`;
const invalid = (respond: (healthy: Healthy) => string | Buffer): Fault => ({
  read: 7,
  create: 8,
  onRequest: (socket, healthy) => void socket.end(respond(healthy)),
});
const lost = { read: 6, create: 8, onRequest: (socket: Socket): void => void socket.resetAndDestroy() };
const harmless = { read: 0, create: 0, commits: true };

export const FAULTS: Readonly<Record<string, Fault>> = {
  'reset after the request': lost,
  'reset after the commit': { ...lost, commits: true },
  'no response': { ...lost, timesOut: true, onRequest: () => undefined },
  'stalled body': { ...lost, timesOut: true, onRequest: (to, healthy) => void to.write(`${head(healthy)}[{"id"`) },
  'body cut short': invalid((healthy) => head(healthy) + healthy.body.slice(0, -4)),
  'no status line': invalid(() => 'SSH-2.0-OpenSSH_9.6\r\n\r\n'),
  'huge header': invalid((healthy) => whole(healthy, `X-Huge: ${'x'.repeat(300_000)}`)),
  'HTML page': invalid(({ status }) => response(status, '<!doctype html><title>Sign in</title>')),
  redirect: {
    ...invalid(() => response('302 Found', '', 'Location: /elsewhere')),
    // A redirect of a create is the same error as that of a read.
    create: 7,
  },
  'early hints': {
    ...harmless,
    onRequest: (socket, healthy) => {
      socket.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n');
      socket.end(whole(healthy));
    },
  },
  'kept open': { ...harmless, onRequest: (socket, healthy) => void socket.write(whole(healthy)) },
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
  return await startRawServer({
    onRequest: (socket, request) => {
      const healthy = healthyResponse(request, categories, fault.commits === true);
      if (writesOnly && request.method === 'GET') socket.end(whole(healthy));
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
