// THE test of imports: a user who follows every printed hint to the letter gets every row exactly once, or an error that says why not.
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { IdleClock } from '../support/fake-clock.ts';
import type { Outcome, Place } from '../support/processes.ts';
import { ended, place } from '../support/processes.ts';
import { start } from '../support/program.ts';
import { inProcess } from '../support/world.ts';
import type { Effect, Item } from './fake-service.ts';
import { countOf, respelled } from './fake-service.ts';
import type { HttpScript } from './http-service.ts';
import { HttpService } from './http-service.ts';

const IMPORT = ['categories', 'import', 'rows.csv', '--json'];
const MOST_COMMANDS = 4;

class Scene {
  readonly clock = new IdleClock();
  readonly service: HttpService;
  readonly at: Place = place();
  /** The highest number of rows that the file has had for each name. */
  readonly wanted = new Map<string, number>();
  names: readonly string[] = [];

  constructor(script: HttpScript) {
    this.service = new HttpService(this.clock, script);
  }

  get state(): string {
    return this.at.env['PETSTORE_STATE_DIR'] as string;
  }

  get env(): Record<string, string> {
    return { PETSTORE_BASE_URL: this.service.url, PETSTORE_API_KEY: 'sk_test_Abcdef0123456789' };
  }

  write(...names: readonly string[]): void {
    this.names = names;
    for (const [name, count] of countOf(names)) this.wanted.set(name, Math.max(this.wanted.get(name) ?? 0, count));
    writeFileSync(join(this.at.dir, 'rows.csv'), `name\n${names.map((name) => `"${name}"\n`).join('')}`);
  }

  run(args: readonly string[] = IMPORT): Promise<Outcome> {
    return this.clock.drive(inProcess(args, { clock: this.clock, dir: this.at.dir, env: this.env }));
  }

  /** Runs the import in a process and kills it once the service has received so many creates. */
  async killAfter(creates: number): Promise<void> {
    const child = start({ ...this.at, env: { ...this.at.env, ...this.env } }, IMPORT);
    const outcome = ended(child);
    await this.service.created(this.service.sent.length + creates);
    child.kill('SIGKILL');
    await outcome;
  }

  /** Runs the import, then does what each hint says. */
  async obey(): Promise<Outcome> {
    let ending = await this.run();
    this.check(ending);
    for (let commands = 1; commands < MOST_COMMANDS; commands++) {
      const args = this.#next(ending);
      if (!args) break;
      ending = await this.run(args);
      this.check(ending);
    }
    return ending;
  }

  /** Checks that no name exists too often unless the exit code is 8, and that none is missing if it is 0. */
  check({ code, err }: Outcome): void {
    const counts = this.service.counts();
    const tooOften = [...this.wanted].filter(([name, count]) => (counts.get(name) ?? 0) > count).map(([name]) => name);
    const listed = new Set(this.#listed().map(({ name }) => name));
    const missing = this.names.filter((name) => !counts.has(name) && !listed.has(name));
    const seen = { code, err, tooOften, missing };
    if (code === 0) expect(seen).toMatchObject({ tooOften: [], missing: [] });
    else if (tooOften.length > 0) expect(seen).toMatchObject({ code: 8 });
  }

  // The arguments of the command in a hint, or of the same command if the hint says so; edits the file if the hint says so.
  #next({ code, err }: Outcome): readonly string[] | undefined {
    const line = err.split('\n').find((one) => one.startsWith('{"error"'));
    const { hint = '' } = (JSON.parse(line ?? '{"error":{}}') as { error: { hint?: string } }).error;
    const command = /`petstore (categories import[^`]*)`/.exec(hint)?.[1];
    if (command) return command.split(' ');
    if (/spelling/.test(hint)) this.write(...respelled(this.names, this.#listed()));
    return code !== 0 && /spelling|same command|import the file again/.test(hint) ? IMPORT : undefined;
  }

  #listed(): readonly Item[] {
    const { items, lists, script } = this.service;
    return script.show?.(items, lists, new Set()) ?? items;
  }
}

async function scene(script: HttpScript, ...names: readonly string[]): Promise<Scene> {
  const made = new Scene(script);
  onTestFinished(await made.service.start());
  made.write(...names);
  return made;
}

const ROWS = ['Bär & Co', 'dog', 'cat', 'a long name of a category', '🐟 fish', 'Ant\u0007eater'];
const lostFirst = (many: number) => (at: number) => (at < many ? ('lost' as const) : undefined);

/** How a service may change names. */
const ALTERING: Readonly<Record<string, (name: string) => string>> = {
  cut: (name) => name.slice(0, 12),
  trimmed: (name) => name.trim().replace(/ +/g, ' '),
  escaped: (name) => name.replaceAll('&', '&amp;'),
  'without emoji': (name) => name.replace(/\p{Extended_Pictographic}/gu, '?'),
  'without control characters': (name) => name.replace(/\p{Cc}/gu, ''),
  'without accents': (name) => name.normalize('NFD').replace(/\p{M}/gu, ''),
  'in lower case': (name) => name.toLowerCase(),
};

const later =
  (commitMs: number, response: number | 'reset' = 'reset') =>
  (): Effect => ({ commitMs, response });
const emptyLater: HttpScript = { isCached: (at) => at > 0, show: (all, at) => (at > 0 ? [] : all) };
const byName = (all: readonly Item[]) => [...all].sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, 4);
const upper = (all: readonly Item[]) => all.map((one) => ({ ...one, name: one.name.toUpperCase() }));

test.each<[string, HttpScript, number, (readonly string[])?]>([
  ...Object.entries(ALTERING).map(
    ([how, alter]) =>
      [`names ${how} and lost responses`, { alter, fate: lostFirst(2) }, 0] as [string, HttpScript, number],
  ),
  ['a list of the first 4 by name', { show: byName, fate: lostFirst(2) }, 7],
  ['a cached list with Age from the start', { isCached: () => true, show: () => [] }, 7],
  ['a cached list with Age after lost responses', { ...emptyLater, fate: lostFirst(3) }, 7],
  ['202 responses and commits 20 s later', { fate: later(20_000, 202) }, 0],
  ['500 responses after the commits', { fate: () => 'fail' }, 0],
  [
    '500 responses after the commits and an outdated list',
    { fate: (at) => (at < 3 ? 'fail' : undefined), show: (all, at) => (at < 2 ? [] : all) },
    0,
  ],
  ['504 responses and commits 25 s later', { fate: (at) => (at < 2 ? later(25_000, 504)() : undefined) }, 0],
  ['lost responses and commits 1.5 s later', { fate: later(1500) }, 0],
  ['201 responses with an old category to all creates', { seed: ['old'], fate: () => 'old' }, 8],
  ['201 responses with an old category to two creates', { seed: ['old'], fate: (at) => (at < 2 ? 'old' : 'ok') }, 0],
  ['connections that are cut before the commit', { fate: (at) => (at % 3 === 0 ? 'cut' : 'ok') }, 0],
  ['a service that commits nothing and cuts every create', { fate: () => 'cut' }, 8],
  ['503 responses to every create', { fate: () => ({ response: 503 }) }, 8],
  ['a firewall that rejects every create with 403', { fate: () => ({ response: 403 }) }, 4],
  ['created categories that are listed under other names', { show: upper }, 0],
  ['repeated names in the file and lost responses', { fate: lostFirst(4) }, 0, ['a', 'a', 'b', 'a', 'b']],
  [
    'repeated names in the file and a service that cuts them',
    { fate: lostFirst(2), alter: (name) => name.slice(0, 3) },
    0,
    ['abcdef', 'abcdef', 'abcxyz', 'abc'],
  ],
])(
  'after every hint is followed, no row exists twice without an error, with %s',
  async (_what, script, code, rows = ROWS) => {
    const it = await scene(script, ...rows);
    const ending = await it.obey();
    expect(ending.code, ending.err).toBe(code);
    const names = it.service.items.map(({ name }) => name);
    if (code === 0 && rows === ROWS) expect(new Set(names).size).toBe(names.length);
  },
);

test.each<[string, HttpScript, (it: Scene) => Promise<void> | void]>([
  [
    'a key that is renewed in mid-import',
    { fate: (at) => (['lost', 'lost', 'ok'] as const)[at] ?? 'unauthorized' },
    async (it) => {
      expect((await it.run([...IMPORT, '--concurrency', '1'])).code).toBe(3);
      it.service.script = {};
    },
  ],
  [
    'a kill with requests in flight to a service that needs 3 s, and an edit of the file',
    { fate: later(3000, 500) },
    async (it) => {
      await it.killAfter(4);
      it.service.script = {};
      it.write(...ROWS.slice(1), 'a new row');
    },
  ],
  [
    'a complete import and new rows in the file',
    {},
    async (it) => {
      expect((await it.run()).code).toBe(0);
      it.write('first now', ...ROWS, 'last now', 'dog');
    },
  ],
  [
    'a state directory that was deleted after lost responses',
    { ...emptyLater, fate: lostFirst(3) },
    async (it) => {
      expect((await it.run()).code).toBe(8);
      rmSync(it.state, { recursive: true });
      it.service.script = {};
    },
  ],
  [
    'a state directory that is moved in mid-import',
    {},
    (it) => {
      it.service.script = {
        fate: (at) => {
          if (at === 2) renameSync(it.state, `${it.state}-moved`);
          if (at === 2) mkdirSync(it.state);
          return undefined;
        },
      };
    },
  ],
  [
    'a reset of the data',
    {},
    async (it) => {
      expect((await it.run()).code).toBe(0);
      it.service.items.length = 0;
    },
  ],
])('after every hint is followed, each row exists exactly once after %s', async (_what, script, play) => {
  const it = await scene(script, ...ROWS);
  await play(it);
  const ending = await it.obey();
  expect(ending.code, ending.err).toBe(0);
});
