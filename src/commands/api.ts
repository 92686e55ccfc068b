// `petstore api METHOD PATH`: one raw call, with the limits, retries and exit codes of every command.
import { Argument, Option } from 'commander';
import type { Action } from '../command.ts';
import { actionHandler, PetstoreCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { PetstoreError, rephrase } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { responseError } from '../http/request-errors.ts';
import type { HttpHeaders, HttpRequest, HttpResponse } from '../http/types.ts';
import { parseJson, stringifyJson } from '../json.ts';
import { CHANGE_ERRORS } from '../reference.ts';
import type { Session } from '../session.ts';
import { quoteForShell } from '../shell-quote.ts';

interface CallOptions {
  readonly data?: string;
  readonly input?: string;
  readonly include?: true;
}

interface RawResponse {
  readonly safe: boolean;
  readonly response: HttpResponse;
  readonly include: boolean;
  /** The error for the status; undefined for a success. */
  readonly failure: PetstoreError | undefined;
}

const callAction: Action<CallOptions, RawResponse> = {
  async run(session, options, method = '', path = '') {
    const request = await toRequest(session, method, path, options);
    const response = await (await session.httpClient()).send(request);
    const { status, headers } = response;
    for (const notice of deprecationNotices(request.method, request.path, headers)) await session.warn(notice);
    const failure = status < 200 || status > 299 ? failureOf(request, response) : undefined;
    return { safe: request.safe, response, include: options.include === true, failure };
  },
  view: {
    failure: ({ failure }) => failure,
    change: ({ safe, response }) =>
      safe ? undefined : `the request was sent; the response has status ${response.status}`,
    json: ({ response: { status, headers, body }, include }) =>
      include ? { status, headers, body: toJsonValue(body) } : toJsonValue(body),
    bytes: (raw) => Buffer.concat([Buffer.from(head(raw)), raw.response.body]),
    text: (raw) => {
      const json = toJsonValue(raw.response.body);
      const isText = json === null || typeof json === 'string';
      const body = isText ? new TextDecoder().decode(raw.response.body) : stringifyJson(json, 2);
      const text = escapeControls(head(raw).replaceAll('\r', '') + body, '\n\t');
      return [text === '' || text.endsWith('\n') ? text : `${text}\n`];
    },
  },
};

function failureOf(request: HttpRequest, response: HttpResponse): PetstoreError {
  const failure = responseError(request, response);
  const isTwice = response.status === 404 && request.path.startsWith('/v1/');
  return isTwice ? rephrase(failure, failure.message, 'leave out /v1, in which the base URL ends') : failure;
}

async function toRequest(session: Session, method: string, typed: string, options: CallOptions): Promise<HttpRequest> {
  const path = pathBelowBase(typed);
  const safe = /^(?:GET|HEAD|OPTIONS)$/.test(method);
  const body = await readBody(session, options);
  if (body !== undefined && safe) {
    throw new PetstoreError('usage', `${method} requests cannot have a body`, {
      hint: 'remove --data and --input, or use POST',
    });
  }
  return { method, path, body, safe, categoryName: nameOf(method, path, body) };
}

// The name in a body that creates a category, for messages about its outcome.
function nameOf(method: string, path: string, body: Uint8Array | undefined): string | undefined {
  if (method !== 'POST' || path !== '/categories' || !body) return undefined;
  const { name } = (toJsonValue(body) ?? {}) as { readonly name?: unknown };
  return typeof name === 'string' ? name : undefined;
}

/**
 * Checks a path, in which `//host` and `\\host` would name another host.
 * @param text with or without a leading slash
 * @returns path and query below the base URL, beginning with one `/`
 * @throws PetstoreError `usage` if it could leave the base URL
 */
export function pathBelowBase(text: string): string {
  if (/[\u0000-\u0020\u007f\\#]/.test(text)) {
    throw new PetstoreError('usage', 'the path contains a space, a control character, a backslash or "#"', {
      hint: 'escape the character, for example a space as %20',
    });
  }
  const hint = 'use a path relative to the base URL, for example categories';
  if (/^(?:\/\/|[a-z]+:)/i.test(text)) throw new PetstoreError('usage', 'the path is a full URL', { hint });
  const path = text.startsWith('/') ? text : `/${text}`;
  // A gateway may decode escaped separators: the decoded path must not leave the base URL either.
  const decoded = path.replace(/%2f|%5c/gi, '/').replace(/\/+/g, '/');
  const isBelow = [path, decoded].every((one) => urlOf(one).pathname.startsWith('/v1/'));
  if (text === '' || !isBelow) throw new PetstoreError('usage', 'the path must stay below the base URL', { hint });
  const { pathname, search } = urlOf(path);
  return pathname.slice('/v1'.length) + search;
}

// The host is a placeholder.
function urlOf(path: string): URL {
  return new URL(`http://petstore.invalid/v1${path}`);
}

// The body is sent as application/json, so anything else is rejected.
async function readBody({ context }: Session, { data, input }: CallOptions): Promise<Uint8Array | undefined> {
  if (data !== undefined) return checkJson(Buffer.from(data), '--data', dataHint(data, context));
  if (input === undefined) return undefined;
  const { readInputFile } = await import('../import/rows.ts');
  const { bytes } = await readInputFile(input, context);
  return checkJson(bytes, input === '-' ? 'stdin' : '--input', 'use a JSON document such as {"name":"dog"}');
}

function dataHint(data: string, context: Context): string {
  const file = /^@(.+)/s.exec(data)?.[1];
  if (file) return `to read the body from a file, use \`--input ${quoteForShell(file, context)}\``;
  return context.platform === 'win32'
    ? 'use --input FILE, since Windows shells treat quotes differently'
    : `quote the JSON, for example --data '{"name":"dog"}'`;
}

function checkJson(body: Uint8Array, source: string, hint: string): Uint8Array {
  try {
    parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
    return body;
  } catch {
    throw new PetstoreError('usage', `the body from ${source} is not valid JSON`, { hint });
  }
}

// A body that is not JSON becomes a string, an empty body null.
function toJsonValue(body: Uint8Array): unknown {
  if (body.length === 0) return null;
  const text = new TextDecoder().decode(body);
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

function head({ response: { status, headers }, include }: RawResponse): string {
  if (!include) return '';
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${status}\r\n${lines.join('\r\n')}\r\n\r\n`;
}

/**
 * Describes the markers of one response (RFC 9745, RFC 8594), and deprecations stated in docs/service.md.
 * @param method upper case
 * @param path below the base URL
 * @returns one sentence per marker, safe to print
 */
export function deprecationNotices(method: string, path: string, headers: HttpHeaders): readonly string[] {
  const notices = Object.entries(headers).flatMap(([name, text = '']) => {
    if (name === 'deprecation')
      return /^(?:true|\?1)$/i.test(text) ? 'is deprecated' : `is deprecated since ${day(text)}`;
    if (name === 'sunset') return `will be removed on ${day(text)}`;
    // The service does not document which header marks beta and experimental operations.
    const unstable = /(?:^|-)stability(?:-level)?$/.test(name) && !/^(?:stable)?$/i.test(text);
    return unstable ? `is marked ${text} and may change without notice` : [];
  });
  if (method === 'GET' && /^\/pets\/[^/?]+(?:\?|$)/.test(path) && headers['deprecation'] === undefined)
    notices.push("is deprecated according to the service's documentation and will be removed");
  const operation = `${method} ${path.replace(/\?.*$/s, '')}`;
  return notices.map((notice) => escapeControls(`${operation} ${notice}`));
}

// RFC 9745: "@" and a Unix time; its drafts had an HTTP date, or "true". Anything else is returned as it is.
function day(value: string): string {
  const at = new Date(value.startsWith('@') ? Number(value.slice(1)) * 1000 : value);
  const [date = value] = Number.isNaN(at.getTime()) ? [] : (/^\d{4}-\d\d-\d\d/.exec(at.toISOString()) ?? []);
  return date;
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

export const api = (): PetstoreCommand =>
  new PetstoreCommand('api')
    .description('send an authenticated API request')
    .addArgument(methodArgument())
    .argument('<path>', 'path relative to the base URL, for example categories?x=1 (without /v1)')
    .addOption(new Option('-d, --data <json>', 'request body, a JSON document').conflicts('input'))
    .option('--input <file>', 'read the request body from a file; - reads stdin')
    .option('-i, --include', 'print status and headers before the body')
    .sections({
      notes: `Use it for operations without a petstore command: GET /pets/{petId} (deprecated) and GET /store/orders. Rate limits,
retries and exit codes work as in other commands; if a request may have been sent, only GET, HEAD and OPTIONS are
retried. A warning tells you if the
response marks the operation as deprecated, sunset or unstable. On Windows, use --input rather than --data.`,
      output: `the body, byte for byte (indented on a terminal), even if the status is an error; with --json one JSON document:
the body, or {"status", "headers", "body"} with --include.`,
      exitCodes: CHANGE_ERRORS,
      examples: [
        'petstore api GET categories',
        'petstore api GET store/orders --include',
        `petstore api POST categories --data '{"name":"dog"}'`,
        `echo '{"name":"cat"}' | petstore api POST categories --input - --json`,
      ],
    })
    .action(actionHandler(async () => callAction));

function methodArgument(): Argument {
  const argument = new Argument('<method>', 'HTTP method').choices(METHODS);
  const check = argument.parseArg;
  return argument.argParser((word: string) => METHODS.find((one) => one === word.toUpperCase()) ?? check?.(word, word));
}
