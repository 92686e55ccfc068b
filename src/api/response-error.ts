// Turns a response that is not a success into an error (docs/cli.md, exit codes).
import type { Hint } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { formatDuration } from '../format.ts';
import { decodeServiceError, describeUncertain } from '../http/request-errors.ts';
import { statusTraits } from '../http/retry.ts';
import type { HttpHeaders, HttpRequest, HttpResponse } from '../http/types.ts';

/** For any final response except 429, which the HTTP client handles. */
export function responseError(request: HttpRequest, response: HttpResponse): PetstoreError {
  const { status } = response;
  const { code, message } = decodeServiceError(response.body);
  const facts = {
    status,
    code: code === undefined ? undefined : escapeControls(code),
    serviceMessage: message === undefined ? undefined : escapeControls(message),
  };
  const detail = facts.serviceMessage ? `: ${facts.serviceMessage}` : '';
  if (status === 401) {
    return new PetstoreError('auth', `the service rejected the API key (401)${detail}`, {
      ...facts,
      hint: 'use a valid API key',
    });
  }
  if (status >= 300 && status < 400) return redirectError(request, response);
  // The service may have processed the request before the error, and an unexpected 2xx does not confirm that it did.
  if (!request.safe && statusTraits(status).ambiguous) {
    const { what, ...hint } = describeUncertain(request);
    const reason = `the outcome of ${what} is unknown: the service returned ${status}${detail}`;
    const processed = statusTraits(status).slow ? 'late' : 'perhaps';
    return new PetstoreError('unknown_outcome', reason, { ...facts, ...hint, processed });
  }
  if (status === 403) return forbiddenError(response, facts);
  if (status >= 400 && status < 500) {
    const what = `the service rejected the request (${status})${detail}`;
    return new PetstoreError('rejected', what, { ...facts, ...rejectedHint(request, response) });
  }
  if (status === 501)
    return new PetstoreError('service', `the service does not implement this operation (501)${detail}`, facts);
  const what = status >= 500 ? `server error (${status})` : `unexpected status ${status}`;
  const hint = `try again ${formatWait(response) ?? 'later'}`;
  return new PetstoreError('service', `${what}${detail}`, { ...facts, hint });
}

function rejectedHint({ method, path, creates }: HttpRequest, { status, headers, body }: HttpResponse): Hint {
  if (status === 405) {
    const allowed = headerText(headers['allow'])
      ?.split(/[\s,]+/)
      .filter((name) => /^[A-Z]{1,20}$/.test(name));
    if (allowed?.length && !allowed.includes(method))
      return { hint: `use ${allowed.slice(0, 10).join(' or ')} instead of ${method}` };
  }
  if (status === 404 || status === 405) {
    // The mock server Prism serves the paths of a document as they are, without the /v1 that ends a base URL.
    if (Buffer.from(body).includes('stoplight.io/prism/errors'))
      return { hint: 'prefix the paths in the OpenAPI document of the mock server with /v1' };
    if (path === '/categories') return { hint: 'check the base URL', command: ['auth', 'status'] };
    return { hint: 'check the path, which is relative to the base URL' };
  }
  return creates !== undefined && [400, 409, 413, 422].includes(status)
    ? { hint: 'correct the values and try again' }
    : {};
}

// The wait that the service states, in seconds or as a date.
function formatWait({ headers, receivedAt }: HttpResponse): string | undefined {
  const text = headerText(headers['retry-after']) ?? '';
  const ms = /^\d{1,7}$/.test(text) ? 1000 * Number(text) : Date.parse(text) - receivedAt;
  return ms > 0 ? `in ${formatDuration(ms)}` : undefined;
}

// GitHub's secondary limit is a 403 with Retry-After or a message; firewalls such as mod_evasive respond with an HTML page.
function forbiddenError(response: HttpResponse, facts: Partial<PetstoreError>): PetstoreError {
  const { serviceMessage = '' } = facts;
  const rejected = (what: string, hint: string): PetstoreError =>
    new PetstoreError('rejected', `${what} (403)${serviceMessage && `: ${serviceMessage}`}`, { ...facts, hint });
  const wait = formatWait(response);
  if (wait || /rate.?limit|too many requests/i.test(serviceMessage))
    return rejected('rate limited by the service', `try again ${wait ?? 'in a few minutes'}`);
  const isPage = /html/.test(headerText(response.headers['content-type']) ?? '') || response.body[0] === 0x3c;
  if (isPage) return rejected('a firewall or proxy rejected the request', 'try again in a few minutes');
  return rejected('the service rejected the request', "check the API key's plan and permissions");
}

function redirectError({ safe }: HttpRequest, { status, headers }: HttpResponse): PetstoreError {
  const location = headerText(headers['location']);
  // A 303 may follow a create that was processed.
  const processed = safe ? 'no' : 'perhaps';
  if (location === undefined) return new PetstoreError('service', `unexpected status ${status}`, { status, processed });
  const target = escapeControls(location).slice(0, 300);
  const message = `the service redirected (${status}) to ${target}; petstore does not follow redirects`;
  const facts = { status, processed, hint: 'check the base URL', command: ['auth', 'status'] } as const;
  return new PetstoreError('service', message, facts);
}

function headerText(value: HttpHeaders[string]): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
