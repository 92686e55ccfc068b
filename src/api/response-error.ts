// Turns a response that is not a success into an error (docs/cli.md, exit codes).
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
      commandHint: (petstore) =>
        `run ${petstore('auth', 'status')} to see which key is used, or ${petstore('auth', 'login')} to save a new one`,
    });
  }
  if (status >= 300 && status < 400) return redirectError(request, response);
  // The service may have processed the request before the error, and an unexpected 2xx does not confirm that it did.
  if (!request.safe && statusTraits(status).ambiguous) {
    const { what, hints } = describeUncertain(request);
    const reason = `the outcome of ${what} is unknown: the service returned ${status}${detail}`;
    const processed = statusTraits(status).slow ? 'late' : 'perhaps';
    return new PetstoreError('unknown_outcome', reason, { ...facts, ...hints, processed });
  }
  if (status === 403) return forbiddenError(response, facts);
  if (status >= 400 && status < 500) {
    const what = `the service rejected the request (${status})${detail}`;
    return new PetstoreError('rejected', what, { ...facts, ...rejectedHints(request, response) });
  }
  if (status === 501)
    return new PetstoreError('service', `the service does not implement this operation (501)${detail}`, facts);
  const what = status >= 500 ? `server error (${status})` : `unexpected status ${status}`;
  return new PetstoreError('service', `${what}${detail}`, { ...facts, hint: 'try again later' });
}

type Hints = Partial<Pick<PetstoreError, 'hint' | 'commandHint'>>;

function rejectedHints({ method, path, creates }: HttpRequest, { status, headers }: HttpResponse): Hints {
  if (status === 405) {
    const allowed = headerText(headers['allow'])
      ?.split(/[\s,]+/)
      .filter((name) => /^[A-Z]{1,20}$/.test(name));
    if (allowed?.length && !allowed.includes(method))
      return { hint: `use ${allowed.slice(0, 10).join(' or ')} instead of ${method}` };
  }
  if (status === 404 || status === 405) {
    if (path === '/categories') {
      return {
        hint: 'check the base URL; it must end in /v1',
        commandHint: (petstore) => `check the base URL with ${petstore('auth', 'status')}`,
      };
    }
    return { hint: 'check the method and path; the path is relative to the base URL (categories, not v1/categories)' };
  }
  return creates !== undefined && [400, 409, 413, 422].includes(status)
    ? { hint: 'correct the values and try again' }
    : {};
}

// GitHub's secondary limit is a 403 with Retry-After or a message; firewalls such as mod_evasive respond with an HTML page.
function forbiddenError({ headers, body }: HttpResponse, facts: Partial<PetstoreError>): PetstoreError {
  const { serviceMessage = '' } = facts;
  const detail = serviceMessage && `: ${serviceMessage}`;
  const seconds = Number(/^\d{1,7}$/.exec(headerText(headers['retry-after']) ?? ''));
  if (seconds > 0 || /rate.?limit|too many requests/i.test(serviceMessage)) {
    const hint = `try again in ${seconds > 0 ? formatDuration(1000 * seconds) : 'a few minutes'}`;
    return new PetstoreError('rejected', `rate limited by the service (403)${detail}`, { ...facts, hint });
  }
  const isPage = /html/.test(headerText(headers['content-type']) ?? '') || body[0] === '<'.charCodeAt(0);
  if (isPage) {
    const what = `a firewall or proxy rejected the request (403)${detail}`;
    return new PetstoreError('rejected', what, { ...facts, hint: 'try again in a few minutes' });
  }
  const hint = "check the API key's plan and permissions";
  return new PetstoreError('rejected', `the service rejected the request (403)${detail}`, { ...facts, hint });
}

function redirectError({ safe }: HttpRequest, { status, headers }: HttpResponse): PetstoreError {
  const location = headerText(headers['location']);
  // A 303 may follow a create that was processed.
  const processed = safe ? 'no' : 'perhaps';
  if (location === undefined) {
    return new PetstoreError('service', `unexpected status ${status} without a Location header`, { status, processed });
  }
  const target = escapeControls(location).slice(0, 300);
  return new PetstoreError(
    'service',
    `the service redirected (${status}) to ${target}; petstore does not follow redirects`,
    {
      status,
      processed,
      hint: 'check the base URL',
    },
  );
}

function headerText(value: HttpHeaders[string]): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
