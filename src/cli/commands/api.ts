// `petstore api [METHOD] PATH`: one raw request, with the rate limits, retries and exit codes of other commands.
import { Argument } from 'commander';
import { deprecationNotices, jsonValue, METHODS, rawRequest } from '../../api/raw-request.ts';
import { PetstoreError, rephrase } from '../../errors.ts';
import { responseError } from '../../http/response-errors.ts';
import { isSafe } from '../../http/retry.ts';
import type { HttpRequest, HttpResponse } from '../../http/types.ts';
import { invalidValueError } from '../../settings/check-options.ts';
import { escapeControls } from '../../text/escape.ts';
import { formatChoices } from '../../text/format.ts';
import { parseJson, stringifyJson } from '../../text/json.ts';
import type { Action } from '../command.ts';
import { actionHandler, PetstoreCommand } from '../command.ts';
import { withChoices } from '../global-options.ts';
import { CHANGE_ERRORS } from '../reference.ts';
import type { Session } from '../session.ts';
import { quoteForShell } from '../shell-quote.ts';

interface ApiOptions {
  readonly data?: string;
  readonly input?: string;
  readonly include?: true;
}

interface RawResponse {
  readonly method: string;
  readonly response: HttpResponse;
  readonly include: boolean;
  /** The error for the status; undefined for a success. */
  readonly failure: PetstoreError | undefined;
}

const callAction: Action<ApiOptions, RawResponse> = {
  async run(session, options, ...words) {
    const { method, path } = methodAndPath(words, options);
    const source = options.data === undefined ? '--input' : '--data';
    const request = rawRequest(method, path, await readBody(session, options), source);
    const response = await (await session.httpClient()).send(request);
    const { status, headers } = response;
    for (const notice of deprecationNotices(request.method, request.path, headers)) await session.warn(notice);
    const failure = status < 200 || status > 299 ? rawResponseError(request, response) : undefined;
    return { method: request.method, response, include: options.include === true, failure };
  },
  view: {
    failure: ({ failure }) => failure,
    change: ({ method, response }) =>
      isSafe(method) ? undefined : `the service responded to the request with status ${response.status}`,
    json: ({ response: { status, headers, body }, include }) =>
      include ? { status, headers, body: jsonValue(body) } : jsonValue(body),
    bytes: (raw) => Buffer.concat([Buffer.from(head(raw)), raw.response.body]),
    text: (raw) => {
      const json = jsonValue(raw.response.body);
      const isText = json === null || typeof json === 'string';
      const body = isText ? new TextDecoder().decode(raw.response.body) : stringifyJson(json, 2);
      const text = escapeControls(head(raw).replaceAll('\r', '') + body, '\n\t');
      return [text === '' || text.endsWith('\n') ? text : `${text}\n`];
    },
  },
};

function rawResponseError(request: HttpRequest, response: HttpResponse): PetstoreError {
  const failure = responseError(request, response);
  if (response.status === 404 && request.path.startsWith('/v1/'))
    return rephrase(failure, failure.message, { hint: 'omit /v1, since the base URL ends in it' });
  return failure;
}

// Without a method, the only word is the path.
function methodAndPath([first, second]: readonly string[], { data, input }: ApiOptions) {
  if (data !== undefined && input !== undefined) {
    throw new PetstoreError('usage', '--data and --input cannot be combined', { hint: 'use one of them' });
  }
  const method = METHODS.find((one) => one === first?.toUpperCase());
  const path = second ?? (method ? undefined : first);
  if (!path) {
    const problem = path === undefined ? 'PATH is required' : 'PATH is empty';
    throw new PetstoreError('usage', problem, { hint: 'pass a path, for example categories' });
  }
  if (second === undefined) return { method: data === undefined && input === undefined ? 'GET' : 'POST', path };
  if (!method) throw invalidValueError(first, 'METHOD', `use ${formatChoices(METHODS)}`);
  return { method, path };
}

// The body is sent as application/json, so anything but JSON is rejected.
async function readBody({ context }: Session, { data, input }: ApiOptions): Promise<Uint8Array | undefined> {
  if (data?.trim() === '') {
    throw new PetstoreError('usage', '--data is empty', { hint: 'use a JSON document such as {"name":"dog"}' });
  }
  if (data !== undefined) {
    // curl reads `@FILE` from a file, and a shell may remove quotes.
    const [, file] = /^@(.+)/s.exec(data) ?? [];
    const shown = file === undefined ? 'FILE' : quoteForShell(file, context);
    return checkJson(Buffer.from(data), '--data', `use --input ${shown} to read the body from a file`);
  }
  if (input === undefined) return undefined;
  const { readInputFile } = await import('../rows/rows.ts');
  const { bytes } = await readInputFile(input, context);
  return checkJson(bytes, input === '-' ? 'stdin' : '--input', 'use a JSON document such as {"name":"dog"}');
}

function checkJson(body: Uint8Array, source: string, hint: string): Uint8Array {
  try {
    parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
    return body;
  } catch {
    throw new PetstoreError('usage', `the body from ${source} is not valid JSON`, { hint });
  }
}

function head({ response: { status, headers }, include }: RawResponse): string {
  if (!include) return '';
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${status}\r\n${lines.join('\r\n')}\r\n\r\n`;
}

export const api = (): PetstoreCommand =>
  new PetstoreCommand('api')
    .description('send an authenticated API request')
    .addArgument(withChoices(new Argument('[method]', 'HTTP method (default: GET, or POST with a body)'), METHODS))
    .argument('[path]', 'path relative to the base URL, for example store/orders (without /v1)')
    .usage('[options] [method] <path>')
    .option('-d, --data <json>', 'request body, a JSON document')
    .option('--input <file>', 'read the request body from a file; - reads stdin')
    .option('-i, --include', 'print status and headers before the body')
    .sections({
      notes: `Use this command for operations that no other command performs: GET /pets/{petId} (deprecated) and GET /store/orders. Rate limits,
retries and exit codes work as in other commands; if a request may have been processed, only GET, HEAD and OPTIONS are
retried. A warning appears if the operation is marked as deprecated or unstable, or has a sunset date. On Windows, use --input rather than --data.`,
      output: `the body, even of an error response other than 429. On a terminal, JSON is indented; elsewhere, no byte is changed. With
--json, one JSON document: the body, or {"status", "headers", "body"} with --include.`,
      exitCodes: CHANGE_ERRORS,
      examples: [
        'petstore api categories',
        'petstore api GET store/orders --include',
        `petstore api categories --data '{"name":"dog"}'`,
        `echo '{"name":"cat"}' | petstore api POST categories --input - --json`,
      ],
    })
    .action(actionHandler(async () => callAction));
