// The operations on categories. The service has two, list and create, and every response is checked (docs/service.md); one category
// is looked up in the list.
import type { Hint } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import type { HttpClient } from '../http/http-client.ts';
import { unknownOutcomeError } from '../http/request-errors.ts';
import { responseError } from '../http/response-errors.ts';
import type { HttpRequest, HttpResponse } from '../http/types.ts';
import type { Category, CategoryId, NewCategory } from '../public-types.ts';
import { closestMatch } from '../text/did-you-mean.ts';
import { escapeControls } from '../text/escape.ts';
import { decodeCreated, decodeList, hasNextPage } from './decode.ts';

export const LIST_REQUEST: HttpRequest = { method: 'GET', path: '/categories' };

/** Why a list does not prove that a category is missing. */
export interface ListFlaw {
  readonly reason: string;
  readonly hint?: string;
}
const PAGED: ListFlaw = { reason: 'the service sent only one page' };
const CACHED: ListFlaw = {
  reason: 'the list comes from a cache',
  hint: 'try again later',
};

const BY_ID = { hint: 'get the category by its id', reason: { is: 'needs_id' } } as const;
const NOT_LISTED = { hint: 'see all categories', reason: { is: 'no_category' } } as const;

/** With more names, comparing each of them letter by letter would take too long. */
const MOST_COMPARED = 10_000;
const LONGEST_COMPARED = 60;

export type Categories = ReturnType<typeof createCategories>;

/** The service's operations; each throws PetstoreError. */
export function createCategories(client: Pick<HttpClient, 'send'>) {
  return {
    /** `GET /categories`: all categories, or the one page that the service sent, in the service's order. */
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
    async create({ name, description }: NewCategory, beforeSend?: () => void, stop?: AbortSignal): Promise<Category> {
      // Leave out all other fields: the service assigns the id.
      const body = JSON.stringify({ name, description });
      const request = { method: 'POST', path: '/categories', body, beforeSend, stop };
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
  };
}

// Returns, for example, `the response (201) is not valid JSON`.
function invalidResponse({ message, details: { problem = message } }: PetstoreError, status: number): string {
  return `the response (${status}) is ${problem.startsWith('not ') ? '' : 'invalid: '}${problem}`;
}

export function incompleteListWarning({ reason }: ListFlaw): string {
  return `the list is incomplete: ${reason}`;
}

export function quotedName(name: string): string {
  return `"${escapeControls(name)}"`;
}

/** The error if a list with a flaw does not show the category `what`. */
function existenceUnknownError(what: string, { reason, hint }: ListFlaw): PetstoreError {
  return new PetstoreError('service', `cannot determine whether ${what} exists: ${reason}`, { hint });
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

/**
 * @param wanted the exact name, or the id
 * @throws PetstoreError `rejected` with the code `not_found` or `ambiguous`, `service` if the list does not prove
 *   that the category is missing
 */
export async function getCategory({ list }: Categories, wanted: string | CategoryId): Promise<Category> {
  const { listed, flaw } = await list();
  const found = listed.filter(({ id, name }) =>
    typeof wanted === 'string' ? name === wanted : BigInt(id) === BigInt(wanted.id),
  );
  const what = typeof wanted === 'string' ? `category ${quotedName(wanted)}` : `category with id ${wanted.id}`;
  if (found[0] && found.length === 1) return found[0];
  if (found.length > 1) {
    const message = `${what} exists more than once (ids ${found.map(({ id }) => id).join(', ')})`;
    throw new PetstoreError('rejected', message, { code: 'ambiguous', ...(typeof wanted === 'string' && BY_ID) });
  }
  if (flaw) throw existenceUnknownError(what, flaw);
  const hint = typeof wanted === 'string' ? hintOfMissing(wanted, listed) : NOT_LISTED;
  throw new PetstoreError('rejected', `${what} does not exist`, { code: 'not_found', ...hint });
}

function hintOfMissing(wanted: string, listed: readonly Category[]): Hint {
  if (listed.some(({ id }) => String(id) === wanted)) return BY_ID;
  const names = listed.map(({ name }) => name);
  const near = nearName(wanted, names);
  return near === undefined ? NOT_LISTED : { hint: `did you mean ${quotedName(near)}?` };
}

function nearName(wanted: string, names: readonly string[]): string | undefined {
  const lower = wanted.toLowerCase();
  const same = names.find((name) => name.toLowerCase() === lower);
  if (same !== undefined || names.length > MOST_COMPARED || wanted.length > LONGEST_COMPARED) return same;
  return closestMatch(
    wanted,
    names.filter((name) => name.length <= LONGEST_COMPARED),
  );
}

/**
 * Creates a category; with `ifMissing`, only if the list shows no category of exactly this name.
 * @param warn called if the existing category has another description, or the service changed the name
 * @throws PetstoreError as `create` does; `service` if the list does not prove that the category is missing
 */
export async function createCategory(
  categories: Categories,
  { name, description }: NewCategory,
  ifMissing: boolean,
  warn: (text: string) => unknown,
): Promise<{ readonly category: Category; readonly created: boolean }> {
  const existing = ifMissing ? await findFresh(categories, name) : undefined;
  if (existing) {
    const { description: current } = existing;
    const has = current === undefined ? 'no description' : `the description "${current}"`;
    if (description !== undefined && description !== current)
      await warn(`existing category "${name}" has ${has}; the given description was ignored`);
    return { category: existing, created: false };
  }
  const category = await categories.create({ name, description });
  if (category.name !== name)
    await warn(`the service changed the name ${quotedName(name)} to ${quotedName(category.name)}`);
  return { category, created: true };
}

// A list with a flaw may show that a category exists, but not that it is missing.
async function findFresh({ listFresh }: Categories, name: string): Promise<Category | undefined> {
  const { listed, flaw } = await listFresh();
  const found = listed.find((category) => category.name === name);
  if (found || !flaw) return found;
  throw existenceUnknownError(`category ${quotedName(name)}`, flaw);
}
