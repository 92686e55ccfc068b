// For the login tests: a service that accepts one key.
import type { HttpFake } from '../../../support/http-fake.ts';
import { errorResponse, quotaHeaders, startHttpFake } from '../../../support/http-fake.ts';

export const GOOD_KEY = 'secret-key-good-0123456789';

export function startService(): Promise<HttpFake> {
  return startHttpFake(({ headers }) =>
    headers.authorization === `Bearer ${GOOD_KEY}`
      ? { body: [{ id: 1, name: 'cat' }], headers: quotaHeaders() }
      : errorResponse(401, 'unauthorized', 'The API key is not valid.', quotaHeaders()),
  );
}
