// `petstore api METHOD PATH`: one raw call, with the limits, retries and exit codes of every command.
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { responseError } from '../../api/response-error.ts';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import type { HttpHeaders, HttpRequest } from '../../http/types.ts';
import { parseJson } from '../../json.ts';
import type { View } from '../../output/view.ts';
import type { Session } from '../../session.ts';
import { deprecationNotices } from './deprecation.ts';
import { pathBelowBase } from './path.ts';

/** What was typed. */
export interface CallInput {
  readonly method: string;
  readonly path: string;
  readonly data: string | undefined;
  readonly input: string | undefined;
  readonly include: boolean;
}

/** The answer to a successful call. */
export interface RawResponse {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly body: Uint8Array;
  readonly include: boolean;
}

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);
const METHODS = new Set([...SAFE, 'POST', 'PUT', 'PATCH', 'DELETE']);
const LARGEST_BODY = 64 * 1024 * 1024;

/**
 * Sends the call.
 * @param session the open session
 * @param input what was typed; checked before anything is sent
 * @returns the answer, where its status is a success
 * @throws PetstoreError `usage` for a wrong method, path or body; else of the kind its status has for every command
 */
export async function run(session: Session, input: CallInput): Promise<RawResponse> {
  const request = await toRequest(session, input);
  const sender = await session.httpClient();
  const reply = await sender.send(request);
  for (const sentence of deprecationNotices(request.method, request.path, reply.headers)) await session.warn(sentence);
  if (reply.status < 200 || reply.status > 299) throw responseError(request, reply);
  return { status: reply.status, headers: reply.headers, body: reply.body, include: input.include };
}

async function toRequest(session: Session, input: CallInput): Promise<HttpRequest> {
  const method = input.method.toUpperCase();
  if (!METHODS.has(method)) {
    throw new PetstoreError('usage', 'the first word after `petstore api` is an HTTP method', {
      hint: `one of ${[...METHODS].join(', ')}: petstore api GET /categories`,
    });
  }
  const path = pathBelowBase(input.path);
  const body = await bodyOf(session, input);
  if (body !== undefined && SAFE.has(method)) {
    throw new PetstoreError('usage', `${method} carries no body`, {
      hint: 'leave --data and --input out, or use POST',
    });
  }
  return { method, path, body, safe: SAFE.has(method) };
}

async function bodyOf(session: Session, input: CallInput): Promise<Uint8Array | undefined> {
  if (input.data !== undefined) return checked(Buffer.from(input.data), '--data');
  if (input.input === undefined) return undefined;
  if (input.input === '-') return checked(await readStdin(session), 'stdin');
  return checked(await readBody(resolve(session.context.cwd, input.input)), '--input');
}

async function readStdin({ context }: Session): Promise<Uint8Array> {
  if (context.stdin.isTTY) {
    throw new PetstoreError('usage', '--input - reads a pipe, and stdin is a terminal', {
      hint: `pipe the body in, or use --data '{"name":"dog"}'`,
    });
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of context.stdin.read()) {
    size += chunk.length;
    if (size > LARGEST_BODY) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function readBody(file: string): Promise<Uint8Array> {
  const unreadable = (why: string): PetstoreError =>
    new PetstoreError('usage', `${escapeControls(file)} ${why}`, {
      hint: 'give --input a readable file, or - for stdin',
    });
  const facts = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(`cannot be read (${error.code})`);
  });
  // A named pipe or a device might never end.
  if (!facts.isFile()) throw unreadable('is not a file');
  if (facts.size > LARGEST_BODY) throw tooLarge();
  return readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(`cannot be read (${error.code})`);
  });
}

function tooLarge(): PetstoreError {
  return new PetstoreError('usage', 'the body is larger than 64 MiB; nothing was sent');
}

// It is sent as application/json, so it has to be that.
function checked(body: Uint8Array, from: string): Uint8Array {
  try {
    parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
    return body;
  } catch {
    throw new PetstoreError('usage', `the body from ${from} is not JSON; nothing was sent`, {
      hint: `for example --data '{"name":"dog"}', in single quotes; a file is given with --input FILE`,
    });
  }
}

/** The body as it arrived; on a terminal with control characters made visible. */
export const view: View<RawResponse> = {
  json: ({ status, headers, body, include }) => (include ? { status, headers, body: document(body) } : document(body)),
  bytes: (answer) => Buffer.concat([Buffer.from(head(answer)), answer.body]),
  text: (answer) => {
    const text = escapeControls(head(answer).replaceAll('\r', '') + new TextDecoder().decode(answer.body), '\n\t');
    return [text === '' || text.endsWith('\n') ? text : `${text}\n`];
  },
};

// With --json there is one document whatever came: text that is no JSON is a JSON string, nothing is null.
function document(body: Uint8Array): unknown {
  if (body.length === 0) return null;
  const text = new TextDecoder().decode(body);
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

function head({ status, headers, include }: RawResponse): string {
  if (!include) return '';
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : (value ?? [])).map((one) => `${name}: ${one}`),
  );
  return `HTTP/1.1 ${status}\r\n${lines.join('\r\n')}\r\n\r\n`;
}
