// Turns a response that is not a success into an error (docs/cli.md, exit codes).
import type { Hint } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { formatDuration } from '../format.ts';
import { decodeServiceError, describeUncertain } from '../http/request-errors.ts';
import { statusTraits } from '../http/retry.ts';
import type { HttpHeaders, HttpRequest, HttpResponse } from '../http/types.ts';

/** The hint after a response that suggests another service. */
export const CHECK_URL: Hint = { hint: 'check the base URL', command: ['auth', 'status'] };

type Rejection = Hint & { readonly what: string };

/** For any final response except 429, which the HTTP client handles. */
export function responseError(request: HttpRequest, response: HttpResponse): PetstoreError {
  const { status } = response;
  const facts = { status, ...decodeServiceError(response.body) };
  const detail = facts.serviceMessage ? `: ${facts.serviceMessage}` : '';
  if (status === 401) {
    const message = `the service rejected the API key (401)${detail}`;
    return new PetstoreError('auth', message, { ...facts, hint: 'use a valid API key' });
  }
  if (status >= 300 && status < 400) return redirectError(request, response);
  const { ambiguous, slow } = statusTraits(status);
  // The service may have processed the request before the error, and an unexpected 2xx does not confirm that it did.
  if (!request.safe && ambiguous) {
    const { what, ...hint } = describeUncertain(request);
    const message = `the outcome of ${what} is unknown: the service returned ${status}${detail}`;
    return new PetstoreError('unknown_outcome', message, { ...facts, ...hint, processed: slow ? 'late' : 'perhaps' });
  }
  if (status >= 400 && status < 500) {
    const { what, ...hint } = status === 403 ? forbidden(response, facts.serviceMessage) : rejected(request, response);
    return new PetstoreError('rejected', `${what} (${status})${detail}`, { ...facts, ...hint });
  }
  if (status === 501)
    return new PetstoreError('service', `the service does not implement this operation (501)${detail}`, facts);
  if (status < 500)
    return new PetstoreError('service', `unexpected status ${status}${detail}`, { ...facts, ...CHECK_URL });
  const hint = `try again ${statedWait(response) ?? 'later'}`;
  return new PetstoreError('service', `server error (${status})${detail}`, { ...facts, hint });
}

function rejected({ method, path, creates }: HttpRequest, { status, headers, body }: HttpResponse): Rejection {
  const what = 'the service rejected the request';
  const allowed: readonly string[] =
    status === 405 ? (headerText(headers['allow'])?.match(/\b[A-Z]{1,20}\b/g) ?? []) : [];
  if (allowed.length > 0 && !allowed.includes(method))
    return { what, hint: `use ${allowed.slice(0, 10).join(' or ')} instead of ${method}` };
  if (status === 404 || status === 405) {
    // The mock server Prism serves the paths of a document as they are, without the /v1 that ends a base URL.
    if (Buffer.from(body).includes('stoplight.io/prism/errors'))
      return { what, hint: 'prefix the paths in the OpenAPI document of the mock server with /v1' };
    if (path === '/categories') return { what, ...CHECK_URL };
    return { what, hint: 'check the path, which is relative to the base URL' };
  }
  const correctable = creates !== undefined && statusTraits(status).rowSpecific;
  return correctable ? { what, hint: 'correct the values and try again' } : { what };
}

// GitHub's secondary limit is a 403 with Retry-After or a message; firewalls such as mod_evasive respond with an HTML page.
function forbidden(response: HttpResponse, serviceMessage = ''): Rejection {
  const wait = statedWait(response);
  if (wait || /rate.?limit|too many requests/i.test(serviceMessage))
    return { what: 'rate limited by the service', hint: `try again ${wait ?? 'in a few minutes'}` };
  const isPage = /html/.test(headerText(response.headers['content-type']) ?? '') || response.body[0] === 0x3c;
  return isPage
    ? { what: 'a firewall or proxy rejected the request', hint: 'try again in a few minutes' }
    : { what: 'the service rejected the request', hint: "check the API key's plan and permissions" };
}

// For example `in 10m`, from Retry-After in seconds or as a date.
function statedWait({ headers, receivedAt }: HttpResponse): string | undefined {
  const text = headerText(headers['retry-after']) ?? '';
  const ms = /^\d{1,7}$/.test(text) ? 1000 * Number(text) : Date.parse(text) - receivedAt;
  return ms > 0 ? `in ${formatDuration(ms)}` : undefined;
}

function redirectError({ safe }: HttpRequest, { status, headers }: HttpResponse): PetstoreError {
  const location = headerText(headers['location']);
  // A 303 may follow a create that was processed.
  const processed = safe ? 'no' : 'perhaps';
  if (location === undefined) return new PetstoreError('service', `unexpected status ${status}`, { status, processed });
  const target = escapeControls(location).slice(0, 300);
  const message = `the service redirected (${status}) to ${target}; petstore does not follow redirects`;
  return new PetstoreError('service', message, { status, processed, ...CHECK_URL });
}

function headerText(value: HttpHeaders[string]): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
