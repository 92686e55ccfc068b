// A service of our own for tests, in a process of its own and none of the sandbox's code: the path before /v1 says how it behaves.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';

/** The behaviours, each reached at `http://127.0.0.1:PORT/<name>/v1`. */
type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

const BIG = '9223372036854775807';

function json(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  const reset = String(Math.floor(Date.now() / 1000) + 30);
  const quota = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '57', 'x-ratelimit-reset': reset };
  response.writeHead(status, { 'content-type': 'application/json', ...quota, ...headers }).end(body);
}

function fail(status: number, code: string, message: string, headers: Record<string, string> = {}): Behaviour {
  return (_request, response) => json(response, status, JSON.stringify({ code, message, status }), headers);
}

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  ok: (request, response) => {
    if (request.method === 'POST') return json(response, 201, `{"id":${BIG},"name":"dog"}`);
    json(response, 200, `[{"id":1,"name":"cat","description":"Felis"},{"id":${BIG},"name":"dog"}]`);
  },
  unauthorized: fail(401, 'unauthorized', 'The API key is not valid.'),
  invalid: fail(400, 'invalid_name', 'The name is too long.'),
  missing: fail(404, 'not_found', 'There is nothing here.'),
  limited: fail(429, 'rate_limited', 'Slow down.', { 'retry-after': '3600', 'x-ratelimit-remaining': '0' }),
  failing: fail(500, 'internal', 'Something broke.'),
  html: (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>'),
  object: (_request, response) => json(response, 200, '{"data":[]}'),
  nonsense: (request, response) => json(response, request.method === 'POST' ? 201 : 200, '{"no":"category"}'),
  redirect: (_request, response) =>
    response.writeHead(302, { location: 'https://elsewhere.example/v1/categories' }).end(),
  reset: (request, response) => {
    request.resume().on('end', () => response.socket?.destroy());
  },
  silent: (request) => void request.resume(),
};

const counts = new Map<string, number>();

const server = createServer((request, response) => {
  const [, name = '', rest] = /^\/([a-z]+)(\/.*)$/.exec(request.url ?? '') ?? [];
  if (name === 'counts') return void response.end(JSON.stringify(Object.fromEntries(counts)));
  const key = `${name} ${request.method}`;
  counts.set(key, (counts.get(key) ?? 0) + 1);
  const behaviour = BEHAVIOURS[name];
  if (!behaviour || rest !== '/v1/categories') return fail(404, 'not_found', 'No such path.')(request, response);
  behaviour(request, response);
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`);
});
