// Follows every printed hint literally until none has a command, and checks that the exit code matches the rows.
import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { IdleClock } from '../support/fake-clock.ts';
import type { Place } from '../support/processes.ts';
import { ended, place } from '../support/processes.ts';
import { start } from '../support/program.ts';
import { inProcess } from '../support/world.ts';
import type { Script } from './scripted-service.ts';
import { ScriptedService } from './scripted-service.ts';

const IMPORT = ['categories', 'import', 'rows.csv', '--json'];
const MOST_COMMANDS = 6;

interface Ending {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

class Scene {
  readonly clock = new IdleClock();
  readonly service: ScriptedService;
  readonly at: Place = place();
  /** The highest number of rows that the file has had for each name. */
  readonly wanted = new Map<string, number>();
  names: readonly string[] = [];
  key = 'sk_test_Abcdef0123456789';

  constructor(script: Script) {
    this.service = new ScriptedService(this.clock, script);
  }

  get state(): string {
    return this.at.env['PETSTORE_STATE_DIR'] as string;
  }

  env(): Record<string, string> {
    return { PETSTORE_BASE_URL: this.service.url, PETSTORE_API_KEY: this.key };
  }

  write(...names: readonly string[]): void {
    this.names = names;
    for (const name of names) {
      const count = names.filter((one) => one === name).length;
      this.wanted.set(name, Math.max(this.wanted.get(name) ?? 0, count));
    }
    writeFileSync(join(this.at.dir, 'rows.csv'), `name\n${names.map((name) => `"${name}"\n`).join('')}`);
  }

  run(args: readonly string[] = IMPORT): Promise<Ending> {
    const options = { clock: this.clock, dir: this.at.dir, env: this.env() };
    return this.clock.drive(inProcess(args, options));
  }

  /** Runs the import in a process and kills it once the service has received so many creates. */
  async killAfter(creates: number): Promise<void> {
    const child = start({ ...this.at, env: { ...this.at.env, ...this.env() } }, IMPORT);
    const outcome = ended(child);
    await this.service.created(this.service.creates + creates);
    child.kill('SIGKILL');
    await outcome;
  }

  /** Runs the import, then the command of each hint, until a hint has none. */
  async obey(): Promise<Ending> {
    let ending = await this.run();
    this.check(ending);
    for (let commands = 1; commands < MOST_COMMANDS; commands++) {
      const args = nextOf(ending);
      if (!args) break;
      ending = await this.run(args);
      this.check(ending);
    }
    return ending;
  }

  /** Checks that no name exists too often unless the exit code is 8, and that none is missing if it is 0. */
  check({ code, err }: Ending): void {
    const counts = this.service.counts();
    const tooOften = [...this.wanted].filter(([name, count]) => (counts.get(name) ?? 0) > count).map(([name]) => name);
    const missing = this.names.filter(
      (name) => !counts.has(name) && !this.service.items.some((one) => one.name === name),
    );
    const seen = { code, err, tooOften, missing };
    if (code === 0) expect(seen).toMatchObject({ tooOften: [], missing: [] });
    else if (tooOften.length > 0) expect(seen).toMatchObject({ code: 8 });
  }
}

// The arguments in a hint, or the same arguments if the hint says to repeat the command. An import of the same file after an
// incomplete list or a changed name is not promised to create nothing twice (docs/import.md).
function nextOf({ code, err }: Ending): string[] | undefined {
  if (code === 0 || /spelling|lacks|twice/.test(err)) return undefined;
  const line = err.split('\n').find((one) => one.startsWith('{"error"'));
  const { hint = '' } = (JSON.parse(line ?? '{"error":{}}') as { error: { hint?: string } }).error;
  const command = /`petstore (categories import[^`]*)`/.exec(hint)?.[1];
  if (command) return command.split(' ');
  return /same command|import the file again/.test(hint) ? IMPORT : undefined;
}

async function scene(script: Script, ...names: readonly string[]): Promise<Scene> {
  const made = new Scene(script);
  onTestFinished(await made.service.start());
  made.write(...names);
  return made;
}

const ROWS = ['Bär & Co', 'dog', 'cat', 'a long name of a category', '🐟 fish', 'Ant\u0007eater'];
const lostFirst = (many: number) => (at: number) => (at < many ? ('lost' as const) : undefined);

const ALTERING: Readonly<Record<string, (name: string) => string>> = {
  cuts: (name) => name.slice(0, 12),
  trims: (name) => name.trim().replace(/ +/g, ' '),
  escapes: (name) => name.replaceAll('&', '&amp;'),
  'replaces emoji in': (name) => name.replace(/\p{Extended_Pictographic}/gu, '?'),
  'strips control characters from': (name) => name.replace(/\p{Cc}/gu, ''),
  'folds accents in': (name) => name.normalize('NFD').replace(/\p{M}/gu, ''),
  lowercases: (name) => name.toLowerCase(),
};

test.each(Object.keys(ALTERING))(
  'if the service %s names and loses responses, the file with its spelling is completed and nothing exists twice',
  async (how) => {
    const it = await scene({ alter: ALTERING[how] as (name: string) => string, fate: lostFirst(2) }, ...ROWS);
    expect([0, 7, 8]).toContain((await it.obey()).code);
    it.write(...ROWS.map((name) => it.service.script.alter?.(name) ?? name));
    expect((await it.obey()).code).toBe(0);
    const names = it.service.items.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  },
);

interface Case {
  readonly what: string;
  readonly script: Script;
  readonly rows?: readonly string[];
  readonly play?: (it: Scene) => Promise<void> | void;
  readonly codes: readonly number[];
}

const CASES: readonly Case[] = [
  { what: 'a list of the first 4 by name', script: { show: byName(4), fate: lostFirst(2) }, codes: [7, 8] },
  { what: 'a list of the oldest 4', script: { show: (all) => all.slice(0, 4), fate: lostFirst(2) }, codes: [7] },
  {
    what: 'a cached list with Age from the start',
    script: { headers: () => ({ age: '30' }), show: () => [] },
    codes: [7],
  },
  {
    what: 'a cached list with Age after lost responses',
    script: { fate: lostFirst(3), headers: cachedLater, show: (all, at) => (at === 0 ? all : []) },
    codes: [7],
  },
  {
    what: '202 responses and commits 20 s later',
    script: { fate: () => ({ later: 20_000, status: 202 }) },
    codes: [0],
  },
  { what: '500 responses after the commits', script: { fate: () => 'fail' }, codes: [0] },
  {
    what: '500 responses after the commits and an outdated list',
    script: { fate: (at) => (at < 3 ? 'fail' : undefined), show: staleAtFirst() },
    codes: [0, 8],
  },
  {
    what: '504 responses and commits 25 s later',
    script: { fate: (at) => (at < 2 ? { later: 25_000, status: 504 } : undefined) },
    codes: [0],
  },
  { what: 'lost responses and commits 1.5 s later', script: { fate: () => ({ later: 1500 }) }, codes: [0] },
  {
    what: '201 responses with an old category to all creates',
    script: { seed: ['old'], fate: () => 'old' },
    codes: [8],
  },
  {
    what: '201 responses with an old category to two creates',
    script: { seed: ['old'], fate: (at) => (at < 2 ? 'old' : undefined) },
    codes: [0],
  },
  {
    what: 'connections that are cut before the commit',
    script: { fate: (at) => (at % 3 === 0 ? 'cut' : undefined) },
    codes: [0],
  },
  { what: 'a service that commits nothing and cuts every create', script: { fate: () => 'cut' }, codes: [8] },
  { what: '503 responses to every create', script: { fate: () => ({ status: 503 }) }, codes: [8] },
  {
    what: 'a firewall that rejects every create with 403',
    script: { fate: () => ({ status: 403 }) },
    codes: [4],
  },
  {
    what: 'a key that is renewed in mid-import',
    script: { fate: lostFirst(2) },
    play: async (it) => {
      it.service.script = { ...it.service.script, keys: () => (it.service.items.length < 3 ? [it.key] : ['renewed']) };
      const { code } = await it.run([...IMPORT, '--concurrency', '1']);
      expect(code).toBe(3);
      it.service.script = { fate: lostFirst(0) };
      it.key = 'sk_test_renewed_0123456789';
    },
    codes: [0],
  },
  {
    what: 'a kill with requests in flight to a service that needs 3 s, and an edit of the file',
    script: { fate: () => ({ later: 3000, status: 500 }) },
    play: async (it) => {
      await it.killAfter(4);
      it.service.script = {};
      it.write(...ROWS.slice(1), 'a new row');
    },
    codes: [0],
  },
  {
    what: 'a complete import and new rows in the file',
    script: {},
    play: async (it) => {
      expect((await it.run()).code).toBe(0);
      it.write('first now', ...ROWS, 'last now', 'dog');
    },
    codes: [0],
  },
  {
    what: 'a state directory that was deleted after lost responses',
    script: { fate: lostFirst(3), headers: cachedLater, show: (all, at) => (at === 0 ? all : []) },
    play: async (it) => {
      expect((await it.run()).code).toBe(8);
      rmSync(it.state, { recursive: true });
      it.service.script = {};
    },
    codes: [0],
  },
  {
    what: 'a state directory that was restored from a backup',
    script: { fate: lostFirst(2), headers: cachedLater, show: (all, at) => (at === 0 ? all : []) },
    play: async (it) => {
      expect((await it.run()).code).toBe(8);
      it.service.script = {};
      const backup = join(it.at.dir, 'backup');
      cpSync(it.state, backup, { recursive: true });
      it.write(...ROWS, 'one more');
      expect((await it.run()).code).toBe(0);
      rmSync(it.state, { recursive: true });
      renameSync(backup, it.state);
    },
    codes: [0],
  },
  {
    what: 'a state directory that is moved in mid-import',
    script: {},
    play: async (it) => {
      it.service.script = {
        fate: (at) => {
          if (at === 2) renameSync(it.state, `${it.state}-moved`);
          if (at === 2) mkdirSync(it.state);
          return undefined;
        },
      };
    },
    codes: [0],
  },
  {
    what: 'a reset of the data',
    script: {},
    play: async (it) => {
      expect((await it.run()).code).toBe(0);
      it.service.items.length = 0;
    },
    codes: [0],
  },
  {
    what: 'another account, with the same ids',
    script: {},
    play: async (it) => {
      expect((await it.run()).code).toBe(0);
      it.service.items.splice(0, 6, { id: 1, name: 'other', sent: 'other' }, { id: 2, name: 'third', sent: 'third' });
    },
    codes: [0],
  },
  {
    what: 'created categories that are listed under other names',
    script: { show: (all) => all.map((one) => ({ ...one, name: one.name.toUpperCase() })) },
    codes: [7],
  },
  {
    what: 'repeated names in the file and lost responses',
    script: { fate: lostFirst(4) },
    rows: ['a', 'a', 'b', 'a', 'b'],
    codes: [0],
  },
  {
    what: 'repeated names in the file and a service that cuts them',
    script: { fate: lostFirst(2), alter: (name) => name.slice(0, 3) },
    rows: ['abcdef', 'abcdef', 'abcxyz', 'abc'],
    codes: [7],
  },
];

test('a row that may be a category of another client is created once by a user who runs the import again', async () => {
  const it = await scene({}, 'dog', 'cat');
  it.service.script = {
    fate: (at) => {
      if (at > 0) return undefined;
      it.service.items.push({ id: 1, name: 'zebra', sent: 'zebra' });
      return 'cut';
    },
  };
  const { code, err } = await it.run();
  expect(code).toBe(8);
  expect(err).toMatch(/row \d \\"(dog|cat)\\" \(perhaps category 1 \\"zebra\\"\)/);
  expect((await it.run()).code).toBe(0);
  expect(Object.fromEntries(it.service.counts())).toEqual({ zebra: 1, dog: 1, cat: 1 });
});

test.each([
  ['one file', ROWS],
  ['two files that share names', [...ROWS.slice(3), 'another', 'dog', 'dog']],
])('two concurrent imports of %s create every row once, and the second one waits', async (_what, second) => {
  const it = await scene({ fate: lostFirst(2) }, ...ROWS);
  const first = it.run();
  await it.service.created(1);
  it.write(...second);
  const [one, other] = await Promise.all([first, it.run()]);
  expect([one.code, other.code]).toEqual([0, 0]);
  expect(other.err).toMatch(/^\{"waiting":\{"reason":"import","pid":\d+,"host":".+"\}\}\n/);
  expect(other.err.match(/"reason":"import"/g)).toHaveLength(1);
  it.check(other);
});

function byName(most: number): (all: readonly { readonly name: string }[]) => never[] {
  return (all) => [...all].sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, most) as never[];
}

function cachedLater(at: number): Record<string, string> {
  return at === 0 ? {} : { age: '60' };
}

// The first two lists are empty.
function staleAtFirst(): NonNullable<Script['show']> {
  return (all, at) => (at < 2 ? [] : all);
}

test.each(CASES.map((one) => [one.what, one] as const))(
  'after every hint is followed, a row exists twice only with exit code 8, and is missing only with an error: %s',
  async (_what, { script, rows = ROWS, play, codes }) => {
    const it = await scene(script, ...rows);
    await play?.(it);
    const ending = await it.obey();
    expect(codes, ending.err).toContain(ending.code);
  },
);
