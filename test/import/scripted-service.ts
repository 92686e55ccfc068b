// A service over real HTTP that loses, delays and alters requests by a script, and keeps the sent name of every category.

import type { IdleClock } from '../support/fake-clock.ts';
import type { FakeResponse, HttpFake } from '../support/http-fake.ts';
import { startHttpFake } from '../support/http-fake.ts';

/** A category, with the name that was sent for it. */
export interface Item {
  readonly id: number;
  readonly name: string;
  readonly description?: string;
  readonly sent: string;
}

/**
 * The fate of one create. `lost`: committed, and the connection is cut; `cut`: not committed, and cut; `fail`: committed,
 * and 500; `later`: committed after `later` ms, with the response `status` or none; `old`: 201 with an existing category.
 */
export type Fate =
  | 'ok'
  | 'lost'
  | 'cut'
  | 'fail'
  | 'old'
  | { readonly later: number; readonly status?: number }
  | { readonly status: number; readonly code?: string };

export interface Script {
  /** Names of existing categories. */
  readonly seed?: readonly string[];
  /** The fate of the create number `at`, from 0; by default `ok`. */
  readonly fate?: (at: number, name: string) => Fate | undefined;
  /** Awaited before each create is processed. */
  readonly before?: () => Promise<void>;
  /** The service's alteration of a name. */
  readonly alter?: (name: string) => string;
  /** The content of the list number `at`. */
  readonly show?: (items: readonly Item[], at: number) => readonly Item[];
  /** Headers of the list number `at`. */
  readonly headers?: (at: number) => Readonly<Record<string, string>>;
  /** The valid keys; by default any key. */
  readonly keys?: () => readonly string[];
}

export class ScriptedService {
  readonly items: Item[] = [];
  creates = 0;
  lists = 0;
  script: Script;
  #fake: HttpFake | undefined;
  readonly #clock: IdleClock;

  constructor(clock: IdleClock, script: Script) {
    this.#clock = clock;
    this.script = script;
    for (const name of script.seed ?? []) this.#commit(name);
  }

  async start(): Promise<() => void> {
    this.#fake = await startHttpFake(async ({ method, headers, body }) => {
      this.#clock.touch();
      if (method === 'POST') await this.script.before?.();
      const keys = this.script.keys?.();
      const isKnown = keys?.some((key) => headers.authorization === `Bearer ${key}`) ?? true;
      const response = isKnown ? this.#respond(method, body) : errorOf(401, 'unauthorized');
      this.#clock.touch();
      return response;
    });
    return this.#fake.close;
  }

  get url(): string {
    return this.#fake?.url ?? '';
  }

  /** Resolves once so many creates have been received. */
  async created(creates: number): Promise<void> {
    while (this.creates < creates) await new Promise((done) => setTimeout(done, 2));
  }

  /** The number of categories created for each name that was sent. */
  counts(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { sent } of this.items) counts.set(sent, (counts.get(sent) ?? 0) + 1);
    return counts;
  }

  #respond(method: string, body: string): FakeResponse {
    const { show = (items) => items, headers = () => ({}) } = this.script;
    if (method === 'GET') {
      const at = this.lists++;
      return { body: show(this.items, at).map(({ sent: _sent, ...one }) => one), headers: headers(at) };
    }
    const row = JSON.parse(body) as { name: string; description?: string };
    const at = this.creates++;
    const fate = this.script.fate?.(at, row.name) ?? 'ok';
    if (fate === 'cut') return 'reset';
    if (fate === 'old') return { status: 201, body: this.items[0] ?? {} };
    if (typeof fate === 'object' && 'later' in fate) {
      void this.#clock.sleep(fate.later).then(() => this.#commit(row.name, row.description));
      return fate.status ? errorOf(fate.status, 'later') : 'reset';
    }
    if (typeof fate === 'object') return errorOf(fate.status, fate.code ?? 'scripted');
    const { sent: _sent, ...category } = this.#commit(row.name, row.description);
    if (fate === 'lost') return 'reset';
    return fate === 'fail' ? errorOf(500, 'internal') : { status: 201, body: category };
  }

  #commit(sent: string, description?: string): Item {
    const name = this.script.alter?.(sent) ?? sent;
    const item = { id: this.items.length + 1, name, ...(description !== undefined && { description }), sent };
    this.items.push(item);
    return item;
  }
}

function errorOf(status: number, code: string): FakeResponse {
  return { status, body: { code, message: `scripted ${status}`, status } };
}
