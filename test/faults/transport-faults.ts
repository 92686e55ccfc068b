// The transport faults (B1 to B25), each as bytes on a socket, with the exit code it must lead to.
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { RawRequest, RawServer } from '../support/raw-server.ts';
import { response, startRawServer } from '../support/raw-server.ts';

/** One fault. */
export interface Fault {
  /** Numbers of the faults it stands for, as in catalogue.ts. */
  readonly rows: readonly string[];
  /** The exit code of a read that meets it, and of a write. */
  readonly read: number;
  readonly write: number;
  /** True where only the deadline ends it. */
  readonly timesOut?: boolean;
  /** Where only the content is wrong: `petstore api` prints what came, as it came, and ends with 0. */
  readonly contentOnly?: boolean;
  /** True where an import ends with the code of a write, and yet does not know whether the row was created. */
  readonly undecided?: boolean;
  /** True where the create was carried out all the same: an import finds it by looking and ends with 0. */
  readonly commits?: boolean;
  /** Before the body is read. */
  readonly onHead?: (socket: Socket, request: RawRequest) => void;
  /** After the request is read; `answer` is what a healthy service would have said. */
  readonly onRequest?: (socket: Socket, answer: Answer, fleet: Fleet) => void;
}

/** What a healthy service would say. */
export interface Answer {
  readonly status: string;
  readonly body: string;
}

/** The servers of a run: one that misbehaves by path, one that refuses connections after accepting, one nobody may reach. */
export interface Fleet {
  readonly faulty: RawServer;
  readonly other: RawServer;
  readonly resetting: RawServer;
  close(): void;
}

const whole = (answer: Answer, ...more: string[]): Buffer => response(answer.status, answer.body, ...more);
const head = (answer: Answer, ...lines: string[]): string =>
  `HTTP/1.1 ${answer.status}\r\n${lines.join('\r\n')}\r\n\r\n`;
const say = (text: (answer: Answer) => string | Buffer) => (socket: Socket, answer: Answer) =>
  void socket.end(text(answer));
const fixed = (status: string, body: string, ...more: string[]) => say(() => response(status, body, ...more));
const refusal = (status: number): string => JSON.stringify({ code: 'refused', message: 'No.', status });

/** What every run is given besides its command: no second try of a read, and a deadline that only what hangs will meet. */
export function hurried(fault: Pick<Fault, 'timesOut'> = {}): string[] {
  return ['--json', '--max-retries', '0', '--max-wait', '1s', '--timeout', fault.timesOut ? '500ms' : '20s'];
}

function forever(socket: Socket, piece: () => string | Buffer, everyMs: number): void {
  const timer = setInterval(() => socket.write(piece()), everyMs);
  socket.on('close', () => clearInterval(timer));
}

function flood(socket: Socket): void {
  const chunk = Buffer.alloc(1024 * 1024, ' ');
  const more = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}

/** Every fault that is chosen by path; `reset-on-connect` and `refused` are addresses of their own. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  'reset-before-the-body': { rows: ['B8'], read: 6, write: 8, onHead: (socket) => socket.resetAndDestroy() },
  'reset-after-the-request': { rows: ['B8'], read: 6, write: 8, onRequest: (socket) => void socket.resetAndDestroy() },
  'reset-after-the-commit': {
    rows: ['B8'],
    read: 6,
    write: 8,
    commits: true,
    onRequest: (socket) => void socket.resetAndDestroy(),
  },
  'closed-without-answer': { rows: ['B8', 'B9'], read: 6, write: 8, onRequest: (socket) => void socket.end() },
  'no-answer-at-all': { rows: ['B3'], timesOut: true, read: 6, write: 8, onRequest: () => undefined },
  'slow-headers': {
    rows: ['B4'],
    timesOut: true,
    read: 6,
    write: 8,
    onRequest: (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      forever(socket, () => 'X-A: b\r\n', 100);
    },
  },
  'half-a-head': { rows: ['B16'], read: 6, write: 8, onRequest: say(() => 'HTTP/1.1 200 OK\r\nContent-Ty') },
  'body-cut-short': {
    rows: ['B14'],
    read: 7,
    write: 8,
    onRequest: say((answer) => head(answer, 'Content-Length: 999') + answer.body.slice(0, -4)),
  },
  'chunk-cut-short': {
    rows: ['B14'],
    read: 7,
    write: 8,
    onRequest: say((answer) => `${head(answer, 'Transfer-Encoding: chunked')}400\r\n${answer.body.slice(0, 9)}`),
  },
  'body-cut-at-close': {
    rows: ['B15'],
    read: 7,
    write: 8,
    contentOnly: true,
    onRequest: say((answer) => head(answer, 'Connection: close') + answer.body.slice(0, -3)),
  },
  'body-stalls': {
    rows: ['B5'],
    timesOut: true,
    read: 6,
    write: 8,
    onRequest: (socket, answer) => void socket.write(`${head(answer, 'Content-Length: 999')}[{"id"`),
  },
  'body-dribbles': {
    rows: ['B6'],
    timesOut: true,
    read: 6,
    write: 8,
    onRequest: (socket, answer) => {
      socket.write(`${head(answer, 'Content-Length: 99999')}[`);
      forever(socket, () => ' ', 100);
    },
  },
  'body-without-end': {
    rows: ['B7', 'C9'],
    read: 7,
    write: 8,
    onRequest: (socket, answer) => {
      socket.write(`${head(answer, 'Connection: close')}[`);
      flood(socket);
    },
  },
  'length-too-small': {
    rows: ['B16'],
    read: 7,
    write: 8,
    contentOnly: true,
    onRequest: say((answer) => head(answer, 'Content-Length: 5') + answer.body),
  },
  'two-lengths': {
    rows: ['B16'],
    read: 7,
    write: 8,
    onRequest: say((answer) => head(answer, 'Content-Length: 5', 'Content-Length: 99') + answer.body),
  },
  'length-and-chunks': {
    rows: ['B16'],
    read: 7,
    write: 8,
    onRequest: say((answer) => head(answer, 'Content-Length: 5', 'Transfer-Encoding: chunked') + answer.body),
  },
  'negative-length': {
    rows: ['B16'],
    read: 7,
    write: 8,
    onRequest: say((answer) => head(answer, 'Content-Length: -5') + answer.body),
  },
  'no-status-line': { rows: ['B16'], read: 7, write: 8, onRequest: say(() => 'SSH-2.0-OpenSSH_9.6\r\n\r\n') },
  'status-99': { rows: ['B16'], read: 7, write: 8, onRequest: say((answer) => response('99 Odd', answer.body)) },
  'status-999': { rows: ['B16'], read: 7, write: 8, onRequest: say((answer) => response('999 Odd', answer.body)) },
  'huge-header': {
    rows: ['B16'],
    read: 7,
    write: 8,
    onRequest: say((answer) => whole(answer, `X-Huge: ${'x'.repeat(300_000)}`)),
  },
  'bare-line-feeds': {
    rows: ['B16'],
    read: 7,
    write: 8,
    onRequest: say((answer) => `HTTP/1.1 ${answer.status}\nContent-Length: ${answer.body.length}\n\n${answer.body}`),
  },
  'switching-protocols': {
    rows: ['B16'],
    read: 7,
    write: 8,
    onRequest: fixed('101 Switching Protocols', '', 'Upgrade: x', 'Connection: upgrade'),
  },
  'a-hundred-continues': {
    rows: ['B16'],
    read: 7,
    write: 8,
    onRequest: say((answer) =>
      Buffer.concat([Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)), whole(answer)]),
    ),
  },
  'html-page': {
    rows: ['B21', 'C1'],
    read: 7,
    write: 8,
    contentOnly: true,
    onRequest: say((answer) => {
      const page = '<!doctype html><title>Sign in</title>';
      return `${head(answer, 'Content-Type: text/html', `Content-Length: ${page.length}`)}${page}`;
    }),
  },
  'empty-body': {
    rows: ['B21'],
    read: 7,
    write: 8,
    contentOnly: true,
    onRequest: say((answer) => response(answer.status, '')),
  },
  'no-content': { rows: ['B16', 'B21'], read: 7, write: 8, contentOnly: true, onRequest: fixed('204 No Content', '') },
  'gzip-unasked': {
    rows: ['B18'],
    read: 7,
    write: 8,
    onRequest: say((answer) => response(answer.status, gzipSync(answer.body), 'Content-Encoding: gzip')),
  },
  'not-utf-8': {
    rows: ['C1'],
    read: 7,
    write: 8,
    contentOnly: true,
    onRequest: say((answer) =>
      response(answer.status, Buffer.from(answer.body.replace(/cat|dog/, 'c\u00e4t'), 'latin1')),
    ),
  },
  'nested-too-deep': {
    rows: ['C4'],
    read: 7,
    write: 8,
    contentOnly: true,
    onRequest: say((answer) => response(answer.status, '['.repeat(100_000) + ']'.repeat(100_000))),
  },
  'wrong-shape': {
    rows: ['C5', 'C6'],
    read: 7,
    write: 8,
    contentOnly: true,
    onRequest: say((answer) => response(answer.status, '{"id":{}}')),
  },
  'redirect-elsewhere': {
    rows: ['A7'],
    read: 7,
    write: 7,
    // A redirect does not say whether the row was created, and nobody looks where the list redirects too.
    undecided: true,
    onRequest: (socket, _answer, fleet) =>
      void socket.end(response('302 Found', '', `Location: ${fleet.other.origin}/v1/categories`)),
  },
  'redirect-with-body': {
    rows: ['A7'],
    read: 7,
    write: 7,
    // A redirect does not say whether the row was created, and nobody looks where the list redirects too.
    undecided: true,
    onRequest: (socket, _answer, fleet) =>
      void socket.end(response('307 Temporary Redirect', '', `Location: ${fleet.other.origin}/v1/categories`)),
  },
  'internal-error': { rows: ['B10'], read: 7, write: 8, onRequest: fixed('500 Internal Server Error', refusal(500)) },
  'bad-gateway': { rows: ['B10'], read: 7, write: 8, onRequest: fixed('502 Bad Gateway', '<html>502</html>') },
  unavailable: { rows: ['B10'], read: 7, write: 8, onRequest: fixed('503 Service Unavailable', refusal(503)) },
  unauthorized: { rows: ['A23'], read: 3, write: 3, onRequest: fixed('401 Unauthorized', refusal(401)) },
  rejected: { rows: ['C10'], read: 4, write: 4, onRequest: fixed('400 Bad Request', refusal(400)) },
  limited: {
    rows: ['B11'],
    read: 5,
    write: 5,
    onRequest: fixed('429 Too Many Requests', refusal(429), 'Retry-After: 3600'),
  },
  'early-hints': {
    rows: ['B16'],
    read: 0,
    write: 0,
    commits: true,
    onRequest: say((answer) =>
      Buffer.concat([Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'), whole(answer)]),
    ),
  },
  'extra-response': {
    rows: ['B17'],
    read: 0,
    write: 0,
    commits: true,
    onRequest: say((answer) => Buffer.concat([whole(answer), response('200 OK', '["poison"]')])),
  },
  'kept-open': {
    rows: ['B23'],
    read: 0,
    write: 0,
    commits: true,
    onRequest: (socket, answer) => void socket.write(whole(answer)),
  },
};

interface Run {
  readonly fault: Fault;
  readonly writesOnly: boolean;
  readonly categories: { id: number; name: string }[];
}

/**
 * Starts the servers. `BASE/FAULT.all.ID/v1` misbehaves always, `BASE/FAULT.post.ID/v1` on writes only.
 * @returns the fleet; each ID has categories of its own
 */
export async function startFleet(): Promise<Fleet> {
  const runs = new Map<string, Run>();
  const other = await startRawServer({ onRequest: (socket) => void socket.end(response('200 OK', '[]')) });
  const resetting = await startRawServer({
    onConnect: (socket) => {
      socket.resetAndDestroy();
      return true;
    },
  });
  const faulty: RawServer = await startRawServer({
    onHead: (socket, request) => {
      const run = runOf(runs, request);
      if (!run.fault.onHead || (run.writesOnly && request.method === 'GET')) return false;
      run.fault.onHead(socket, request);
      return true;
    },
    onRequest: (socket, request) => {
      const run = runOf(runs, request);
      const { fault, categories } = run;
      const healthy = run.writesOnly && request.method === 'GET';
      const misbehave = healthy ? undefined : fault.onRequest;
      const answer = answerOf(request, categories, fault.commits === true);
      if (misbehave) misbehave(socket, answer, fleet);
      else socket.end(whole(answer));
    },
  });
  const fleet: Fleet = {
    faulty,
    other,
    resetting,
    close: () => {
      for (const server of [faulty, other, resetting]) server.close();
    },
  };
  return fleet;
}

function runOf(runs: Map<string, Run>, request: RawRequest): Run {
  const id = request.path.split('/')[1] ?? '';
  const [name = '', which] = id.split('.');
  const known = runs.get(id);
  if (known) return known;
  const fault = FAULTS[name];
  if (!fault) throw new Error(`no such fault: ${request.path}`);
  const run = { fault, writesOnly: which === 'post', categories: [{ id: 1, name: 'cat' }] };
  runs.set(id, run);
  return run;
}

function answerOf(request: RawRequest, categories: Run['categories'], commits: boolean): Answer {
  if (request.method === 'GET') return { status: '200 OK', body: JSON.stringify(categories) };
  const { name } = JSON.parse(Buffer.from(request.body, 'latin1').toString()) as { name: string };
  const created = { id: categories.length + 1, name };
  if (commits) categories.push(created);
  return { status: '201 Created', body: JSON.stringify(created) };
}
