// `petstore api METHOD PATH`: one raw call, with the limits, retries and exit codes of every command.
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { responseError } from '../../api/response-error.ts';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import type { HttpHeaders, HttpRequest } from '../../http/types.ts';
import { parseJson } from '../../json.ts';
import type { Session } from '../../session.ts';
import type { Action } from '../command.ts';
import { deprecationNotices } from './deprecation.ts';
import { pathBelowBase } from './path.ts';

interface CallOptions {
  readonly data?: string;
  readonly input?: string;
  readonly include?: true;
}

interface RawResponse {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly body: Uint8Array;
  readonly include: boolean;
  /** The error that the status stands for; undefined for a success. */
  readonly failure: PetstoreError | undefined;
}

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);
const METHODS = new Set([...SAFE, 'POST', 'PUT', 'PATCH', 'DELETE']);
const LARGEST_BODY = 64 * 1024 * 1024;

export const callAction: Action<CallOptions, RawResponse> = {
  async run(session, { args: [method = '', path = ''], options }) {
    const request = await toRequest(session, method.toUpperCase(), path, options);
    const response = await (await session.httpClient()).send(request);
    const { status, headers, body } = response;
    for (const notice of deprecationNotices(request.method, request.path, headers)) await session.warn(notice);
    const failure = status < 200 || status > 299 ? responseError(request, response) : undefined;
    return { status, headers, body, include: options.include === true, failure };
  },
  exitError: ({ failure }) => failure,
  summary: ({ status }) => `the request was sent and answered with status ${status}`,
  view: {
    json: ({ status, headers, body, include }) =>
      include ? { status, headers, body: toJsonValue(body) } : toJsonValue(body),
    bytes: (response) => Buffer.concat([Buffer.from(head(response)), response.body]),
    text: (response) => {
      const body = new TextDecoder().decode(response.body);
      const text = escapeControls(head(response).replaceAll('\r', '') + body, '\n\t');
      return [text === '' || text.endsWith('\n') ? text : `${text}\n`];
    },
  },
};

async function toRequest(session: Session, method: string, path: string, options: CallOptions): Promise<HttpRequest> {
  if (!METHODS.has(method)) {
    throw new PetstoreError('usage', 'the first argument must be an HTTP method', {
      hint: `use one of ${[...METHODS].join(', ')}: \`petstore api GET categories\``,
    });
  }
  const checkedPath = pathBelowBase(path);
  const body = await bodyOf(session, options);
  if (body !== undefined && SAFE.has(method)) {
    throw new PetstoreError('usage', `${method} requests have no body`, {
      hint: 'remove --data and --input, or use POST',
    });
  }
  return { method, path: checkedPath, body, safe: SAFE.has(method) };
}

async function bodyOf(session: Session, { data, input }: CallOptions): Promise<Uint8Array | undefined> {
  const { platform } = session.context;
  if (data !== undefined) return checked(Buffer.from(data), '--data', platform);
  if (input === undefined) return undefined;
  if (input === '-') return checked(await readStdin(session), 'stdin', platform);
  return checked(await readBody(resolve(session.context.cwd, input)), '--input', platform);
}

async function readStdin({ context }: Session): Promise<Uint8Array> {
  if (context.stdin.isTTY) {
    throw new PetstoreError('usage', '--input - needs a pipe, but stdin is a terminal', {
      hint: 'pipe the body in, or name a file: --input FILE',
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
  const unreadable = (problem: string, cause?: unknown): PetstoreError =>
    new PetstoreError('usage', `${escapeControls(file)} ${problem}`, { hint: 'check the path after --input', cause });
  try {
    const facts = await stat(file);
    // A named pipe or a device might never end.
    if (!facts.isFile()) throw unreadable('is not a regular file');
    if (facts.size > LARGEST_BODY) throw tooLarge();
    return await readFile(file);
  } catch (error) {
    if (error instanceof PetstoreError) throw error;
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw unreadable(missing ? 'does not exist' : 'cannot be read', error);
  }
}

function tooLarge(): PetstoreError {
  return new PetstoreError('usage', 'the body is larger than 64 MiB; nothing was sent');
}

// It is sent as application/json.
function checked(body: Uint8Array, source: string, platform: string): Uint8Array {
  try {
    parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
    return body;
  } catch {
    throw new PetstoreError('usage', `the body from ${source} is not valid JSON; nothing was sent`, {
      hint:
        platform === 'win32'
          ? 'write it to a file and use --input FILE: the shells of Windows treat quotes differently'
          : `quote it, for example --data '{"name":"dog"}', or use --input FILE`,
    });
  }
}

// Text that is not JSON becomes a JSON string, no body becomes null.
function toJsonValue(body: Uint8Array): unknown {
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
