// What a response that is not a success means, as an error (docs/cli.md, exit codes).
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { decodeServiceError, LOOKUP_HINT } from '../http/request-errors.ts';
import { statusTraits } from '../http/retry.ts';
import type { HttpRequest, HttpResponse } from '../http/types.ts';

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
    return new PetstoreError('auth', `the service did not accept the API key (401)${detail}`, {
      ...facts,
      hint: 'run `petstore auth status` to see which key is used, or `petstore auth login` to save another',
    });
  }
  if (status >= 300 && status < 400) return redirectError(response, request.safe);
  // The request may have been processed before these; an unexpected 2xx is no confirmation either.
  if (!request.safe && statusTraits(status).ambiguous) {
    const what = `the service responded ${status}, so it is unknown whether the request was processed${detail}`;
    const processed = statusTraits(status).slow ? 'late' : 'perhaps';
    return new PetstoreError('unknown_outcome', what, { ...facts, processed, hint: LOOKUP_HINT });
  }
  if (status >= 400 && status < 500) {
    const what = `the service rejected the request (${status})${detail}`;
    return new PetstoreError('rejected', what, { ...facts, hint: rejectedHint(request, status) });
  }
  const what = status >= 500 ? `the service failed (${status})` : `the service sent an unexpected status (${status})`;
  const hint =
    status === 501
      ? 'the service does not implement this operation'
      : 'try again later, or run `petstore doctor` to check the connection';
  return new PetstoreError('service', `${what}${detail}`, { ...facts, hint });
}

function rejectedHint({ method, path }: HttpRequest, status: number): string {
  if (status === 403) return 'the API key is not allowed to do this; check the plan and permissions of the key';
  if (status === 404 || status === 405) {
    return path === '/categories'
      ? 'check the base URL with `petstore auth status`; it must end in /v1'
      : 'check the method and the path; it is relative to the base URL, for example /categories';
  }
  return method === 'POST' ? 'correct the values and try again; nothing was created' : 'nothing was changed';
}

function redirectError({ status, headers }: HttpResponse, safe: boolean): PetstoreError {
  const location = headers['location'];
  const target = escapeControls((typeof location === 'string' ? location : location?.[0]) ?? 'nowhere').slice(0, 300);
  return new PetstoreError('service', `the service redirects (${status}) to ${target}; redirects are not followed`, {
    status,
    // A 303 follows a create that was processed.
    processed: safe ? 'no' : 'perhaps',
    hint: 'if that is the right base URL, run `petstore auth login --url URL`',
  });
}
