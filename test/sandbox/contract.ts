// Checks responses against the OpenAPI document, and knows a request for each documented response.
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Answer } from './support.ts';

/** The parts of an OpenAPI document that are checked. */
export interface Description {
  readonly components: {
    readonly headers: Readonly<Record<'Limit' | 'Remaining' | 'Reset', { readonly example: number }>>;
  };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly responses: Readonly<Record<string, unknown>>;
  readonly requestBody?: unknown;
}

interface Response {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, { readonly schema: unknown }>>;
}

/** One documented response. */
export interface Documented {
  readonly method: string;
  readonly path: string;
  /** A status, or `default`. */
  readonly status: string;
}

/** Lists every documented response. */
export function documentedResponses(description: Description): Documented[] {
  return Object.entries(description.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { responses }]) =>
      Object.keys(responses).map((status) => ({ method: method.toUpperCase(), path, status })),
    ),
  );
}

/** Checks responses against a document. */
export class Checker {
  readonly #description: Description;
  readonly #ajv = new Ajv2020({ strict: false, formats: { int64: true } });

  constructor(description: Description) {
    this.#description = description;
    this.#ajv.addSchema(description, 'service');
  }

  /** Lists the deviations of a response from a documented one. */
  problems({ method, path, status }: Documented, answer: Answer): string[] {
    const responses = this.#description.paths[path]?.[method.toLowerCase()]?.responses ?? {};
    const wanted =
      status === 'default' ? !Object.hasOwn(responses, String(answer.status)) : String(answer.status) === status;
    if (!wanted) return [`${method} ${path}: status ${answer.status} instead of ${status}`];
    const response = this.#resolve(responses[status]) as Response;
    return [...this.#headerProblems(response, answer), ...this.#bodyProblems(response, answer)];
  }

  #headerProblems(response: Response, answer: Answer): string[] {
    return Object.entries(response.headers ?? {}).flatMap(([name, reference]) => {
      const header = this.#resolve(reference) as { required?: boolean; schema: { type?: string } };
      const value = answer.headers[name.toLowerCase()];
      if (value === undefined) return header.required ? [`${name} is missing`] : [];
      return header.schema.type === 'integer' && !/^-?\d+$/.test(String(value))
        ? [`${name} is not an integer: ${value}`]
        : [];
    });
  }

  #bodyProblems(response: Response, answer: Answer): string[] {
    if (!response.content) return [];
    const type = String(answer.headers['content-type']).replace(/;.*/, '');
    const schema = response.content[type]?.schema;
    if (schema === undefined) return [`${type} is not documented`];
    // References inside the schema are relative to the document.
    const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"service#/')) as object;
    const valid = this.#ajv.validate(absolute, answer.json);
    return valid ? [] : [this.#ajv.errorsText()];
  }

  #resolve(part: unknown): unknown {
    const reference = (part as { $ref?: string }).$ref;
    if (reference === undefined) return part;
    let found: unknown = this.#description;
    for (const step of reference.slice(2).split('/')) found = (found as Record<string, unknown>)[step];
    return found;
  }
}

/** A request; a null key means none. */
export interface Provocation {
  readonly method: string;
  readonly path: string;
  readonly key?: null;
  readonly body?: unknown;
}

interface Fixture {
  readonly response: Documented;
  readonly request: Provocation;
}

function fixture(method: string, path: string, status: string, more: Partial<Provocation> = {}): Fixture {
  return { response: { method, path, status }, request: { method, path: path.replace('{petId}', '1'), ...more } };
}

/** A request for each documented response except 429, which needs an exhausted limit. */
export const FIXTURES: readonly Fixture[] = [
  fixture('GET', '/categories', '200'),
  fixture('GET', '/categories', '401', { key: null }),
  ...[{ name: 'dog' }, { name: 'cat', description: 'Felis catus' }].map((body) =>
    fixture('POST', '/categories', '201', { body }),
  ),
  ...[{}, { description: 'no name' }, { name: 7 }, { name: 'dog', description: 7 }, [], 'dog'].map((body) =>
    fixture('POST', '/categories', '400', { body }),
  ),
  fixture('POST', '/categories', '401', { key: null, body: { name: 'dog' } }),
  fixture('GET', '/pets/{petId}', 'default'),
  fixture('GET', '/store/orders', 'default'),
];
