// The category operations, list and create; every response is checked (docs/service.md, operations).
import { PetstoreError } from '../errors.ts';
import type { HttpClient } from '../http/http-client.ts';
import { unknownOutcomeError } from '../http/request-errors.ts';
import { responseError } from '../http/response-errors.ts';
import type { HttpRequest, HttpResponse } from '../http/types.ts';
import { escapeControls } from '../text/escape.ts';
import { decodeCreated, decodeList, hasNextPage } from './decode.ts';
import type { Category, NewCategory } from './types.ts';

type Sender = Pick<HttpClient, 'send'>;

export const LIST_REQUEST: HttpRequest = { method: 'GET', path: '/categories', isSafe: true };
const CREATE: HttpRequest = { method: 'POST', path: '/categories', isSafe: false };

/** Why a list does not prove that a category is missing. */
export interface ListFlaw {
  readonly reason: string;
  readonly hint?: string;
}
const PAGED: ListFlaw = { reason: 'the service sent only one page' };
const CACHED: ListFlaw = {
  reason: 'the list comes from a cache',
  hint: 'run the same command again later',
};

export type Api = ReturnType<typeof createApi>;

/** The service's operations; each throws PetstoreError. */
export function createApi(client: Sender) {
  return {
    categories: {
      /** `GET /categories`: all categories, or the one page that the service sent, in its order. */
      list: async () => listing(await client.send(LIST_REQUEST)),
      /** `list` with `Cache-Control: no-cache`; a response from a cache (`Age`) is a flaw, too. */
      async listFresh(once = false) {
        const response = await client.send({ ...LIST_REQUEST, noCache: true, once });
        const { age = '0' } = response.headers;
        const { listed, flaw = Number(age) === 0 ? undefined : CACHED } = listing(response);
        return { listed, flaw };
      },
      /**
       * `POST /categories`: the category as created.
       * @param beforeSend called just before the first byte is sent; may throw to prevent sending
       */
      async create(
        { name, description }: NewCategory,
        beforeSend?: () => void,
        cancel?: AbortSignal,
      ): Promise<Category> {
        // Leave out all other fields: the service assigns the id.
        const body = JSON.stringify({ name, description });
        const request: HttpRequest = { ...CREATE, body, beforeSend, cancel };
        const response = await client.send(request);
        const { status } = response;
        if (status !== 201 && status !== 200) throw responseError(request, response);
        try {
          return decodeCreated(response);
        } catch (error) {
          if (!(error instanceof PetstoreError)) throw error;
          throw unknownOutcomeError(request, invalidResponse(error, status), { status });
        }
      },
    },
  };
}

// For example: the response (201) is not valid JSON.
function invalidResponse({ message, details: { problem = message } }: PetstoreError, status: number): string {
  return `the response (${status}) is ${problem.startsWith('not ') ? '' : 'invalid: '}${problem}`;
}

export function incompleteListWarning({ reason }: ListFlaw): string {
  return `the list is incomplete: ${reason}`;
}

export function changedNameWarning(sent: string, { name }: Category): string | undefined {
  if (name === sent) return undefined;
  return `the service changed the name ${quotedName(sent)} to ${quotedName(name)}`;
}

export function quotedName(name: string): string {
  return `"${escapeControls(name)}"`;
}

/** The error if a list with a flaw does not show the category `what`. */
export function existenceUnknownError(what: string, { reason, hint }: ListFlaw): PetstoreError {
  return new PetstoreError('service', `cannot tell whether ${what} exists: ${reason}`, { hint });
}

function listing(response: HttpResponse): {
  readonly listed: readonly Category[];
  readonly flaw: ListFlaw | undefined;
} {
  return { listed: categoriesOf(response), flaw: hasNextPage(response) ? PAGED : undefined };
}

/** @throws PetstoreError of the kind that matches the status; `service` if the body is not a list of categories */
export function categoriesOf(response: HttpResponse): readonly Category[] {
  if (response.status !== 200) throw responseError(LIST_REQUEST, response);
  return decodeList(response);
}
