// A reply that is not the answer hoped for, as an error a person can act on (contract, section 3).
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { decodeServiceError } from '../http/error-body.ts';
import { LOOKUP_HINT } from '../http/request-errors.ts';
import type { HttpRequest, HttpResponse } from '../http/types.ts';

/**
 * Says what a final reply with another status than the documented ones means.
 * @param request what was sent
 * @param reply the reply; 429 never comes here, the sender deals with it
 * @returns `auth` for 401, `rejected` for other 4xx, `service` for a redirect and for anything else on a read,
 *   `unknown_outcome` for anything else on a write (a 5xx or 408 may come after the work was done)
 */
export function responseError(request: HttpRequest, reply: HttpResponse): PetstoreError {
  const { status } = reply;
  const said = decodeServiceError(reply.body);
  const words = said.message ? `: ${escapeControls(said.message)}` : '';
  const facts = {
    code: said.code === undefined ? undefined : escapeControls(said.code),
    serviceMessage: said.message === undefined ? undefined : escapeControls(said.message),
    status,
  };
  if (status === 401) {
    const hint = 'check the key: `petstore auth status` shows which one is used, `petstore auth login` stores another';
    return new PetstoreError('auth', `the service did not accept the API key (401)${words}`, { ...facts, hint });
  }
  if (status >= 300 && status < 400) return redirect(reply);
  const mayHaveHappened = !request.safe && (status >= 500 || status === 408 || status < 300);
  if (mayHaveHappened) {
    const message = `the service answered ${status}, which does not say whether the request was carried out${words}`;
    return new PetstoreError('unknown_outcome', message, { ...facts, hint: LOOKUP_HINT });
  }
  if (status >= 400 && status < 500) {
    const hint =
      status === 404 ? 'check the base URL with `petstore auth status`: it ends in /v1' : rejectedHint(request);
    return new PetstoreError('rejected', `the service rejected the request (${status})${words}`, { ...facts, hint });
  }
  const message =
    status >= 500
      ? `the service failed (${status})${words}`
      : `the service answered ${status}, which its document does not know`;
  return new PetstoreError('service', message, {
    ...facts,
    hint: 'try again later; `petstore doctor` checks the way to the service',
  });
}

function rejectedHint(request: HttpRequest): string {
  return request.method === 'POST' ? 'correct the values and try again; nothing was created' : 'nothing was changed';
}

function redirect(reply: HttpResponse): PetstoreError {
  const location = reply.headers['location'];
  const target = escapeControls((typeof location === 'string' ? location : location?.[0]) ?? 'nowhere').slice(0, 300);
  const message = `the service redirects (${reply.status}) to ${target}, and redirects are not followed`;
  const hint = 'if that is the right address, log in to it: `petstore auth login --url URL`';
  return new PetstoreError('service', message, { status: reply.status, hint });
}
