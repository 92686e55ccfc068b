// The category operations: list and create, every reply checked (service.md, section 4).
import { PetstoreError } from '../errors.ts';
import { LOOKUP_HINT } from '../http/request-errors.ts';
import type { HttpClient, HttpRequest, HttpResponse } from '../http/types.ts';
import { DecodeError, decodeCategories, decodeCategory, decodeJson } from './decode.ts';
import { responseError } from './failure.ts';
import type { Api, Category, NewCategory } from './types.ts';

const LIST: HttpRequest = { method: 'GET', path: '/categories', safe: true };

/**
 * Makes the service's operations from something that sends requests.
 * @param sender sends one request politely, waits and retries included
 * @returns the operations; they throw PetstoreError
 */
export function createApi(sender: Pick<HttpClient, 'send'>): Api {
  return { categories: { list: () => list(sender), create: (input, beforeSend) => create(sender, input, beforeSend) } };
}

async function list(sender: Pick<HttpClient, 'send'>): Promise<readonly Category[]> {
  return categoriesOf(await sender.send(LIST));
}

/**
 * @param reply the answer to `GET /categories`
 * @returns what it lists
 * @throws PetstoreError as the status says; `service` where it is no list of categories
 */
export function categoriesOf(reply: HttpResponse): readonly Category[] {
  if (reply.status !== 200) throw responseError(LIST, reply);
  try {
    return decodeCategories(decodeJson(reply.body, reply.headers));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const hint =
      'check the base URL with `petstore auth status`; behind a portal or proxy, its page may have come instead';
    throw new PetstoreError('service', `the reply breaks the service's contract: ${error.message}`, {
      status: 200,
      hint,
    });
  }
}

async function create(
  sender: Pick<HttpClient, 'send'>,
  input: NewCategory,
  beforeSend: (() => void) | undefined,
): Promise<Category> {
  // Built by name: whatever else the caller's object holds, an id above all, is not sent.
  const body = JSON.stringify({ name: input.name, description: input.description });
  const request: HttpRequest = { method: 'POST', path: '/categories', body, safe: false, beforeSend };
  const reply = await sender.send(request);
  if (reply.status !== 201 && reply.status !== 200) throw responseError(request, reply);
  return createdOf(reply);
}

function createdOf(reply: HttpResponse): Category {
  try {
    return decodeCategory(decodeJson(reply.body, reply.headers));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const message = `the service answered ${reply.status} with something that is no category (${error.message})`;
    throw new PetstoreError('unknown_outcome', message, { status: reply.status, hint: LOOKUP_HINT });
  }
}
