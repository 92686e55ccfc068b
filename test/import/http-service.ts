// The fake service over HTTP, for commands.
import type { Category, NewCategory } from '../../src/api/types.ts';
import type { IdleClock } from '../support/fake-clock.ts';
import type { FakeResponse, HttpFake } from '../support/http-fake.ts';
import { errorResponse, startHttpFake } from '../support/http-fake.ts';
import type { Script } from './fake-service.ts';
import { countOf, FakeService, visible } from './fake-service.ts';

export interface HttpScript extends Script {
  /** Names of existing categories. */
  seed?: readonly string[];
}

export class HttpService extends FakeService<HttpScript> {
  #fake: HttpFake | undefined;
  readonly #seen = new Set<Category['id']>();
  readonly #touch: () => void;

  constructor(clock: IdleClock, script: HttpScript) {
    super(clock, script);
    this.#touch = () => clock.touch();
    for (const name of script.seed ?? []) this.add({ name });
  }

  async start(): Promise<() => void> {
    this.#fake = await startHttpFake(({ method, body }) => {
      this.#touch();
      const response = this.#respond(method, body);
      this.#touch();
      return response;
    });
    return this.#fake.close;
  }

  get url(): string {
    return this.#fake?.url ?? '';
  }

  /** Resolves once so many creates have been received. */
  async created(creates: number): Promise<void> {
    while (this.sent.length < creates) await new Promise((done) => setTimeout(done, 2));
  }

  /** The number of categories created for each name that was sent. */
  counts(): Map<string, number> {
    return countOf(this.items.map(({ sent }) => sent));
  }

  #respond(method: string, body: string): FakeResponse {
    if (method === 'GET') {
      const { listed, fromCache } = this.list(this.#seen);
      return { body: listed, headers: fromCache ? { age: '60' } : {} };
    }
    const row = JSON.parse(body) as NewCategory;
    const { commitMs, response, names } = this.effectOf(row);
    const item = commitMs === 0 || response === undefined ? (names ? this.items[0] : this.add(row)) : undefined;
    if (commitMs) void this.clock.sleep(commitMs).then(() => this.add(row));
    if (typeof response === 'number') return errorResponse(response, 'scripted', `scripted ${response}`);
    return response || !item ? 'reset' : { status: 201, body: visible(item) };
  }
}
