// Imports in virtual time: faults, views of the list, alterations of names and edits of the file are drawn from a seed.
import { rmSync } from 'node:fs';
import type { Category } from '../../src/api/types.ts';
import { PetstoreError } from '../../src/errors.ts';
import type { Fate } from './fake-service.ts';
import { FakeImport, FakeService, isComplete, named } from './fake-service.ts';

/** The end of a round. `twice` and `missing` are the names of rows after a run that reported completion. */
export interface Ending {
  readonly seed: number;
  readonly view: string;
  readonly runs: number;
  readonly crashes: number;
  readonly complete: boolean;
  readonly twice: readonly string[];
  readonly missing: readonly string[];
  /** Whether a name existed too often after a run that ended with an error. */
  readonly reported: boolean;
}

const ALTERATIONS = [
  ...Array<(name: string) => string>(4).fill((name) => name),
  (name: string) => name.slice(0, 9),
  (name: string) => name.toLowerCase(),
  (name: string) => name.replace('&', '&amp;'),
];
const VIEWS = ['whole', 'whole', 'whole', 'stale', 'cached', 'oldest', 'by name'] as const;
/** Views that hide categories without evidence (docs/import.md, "What cannot be promised"). */
export const CUT_VIEWS: readonly string[] = ['oldest', 'by name'];
const FAULTS: readonly (readonly Fate[])[] = [
  ['lost', 'lost', 'cut', 'rejected'],
  ['lost', 'slow', 'slower', 'cut'],
  ['old', 'lost', 'one'],
  ['cut'],
  ['lost', 'lost', 'late', 'limited', 'unauthorized'],
];
const MOST_RUNS = 10;
/** From this run on the service has no faults. */
const HEALTHY_FROM = 6;

/** Runs the import of a file until it is complete, at most ten times. */
export async function playRound(seed: number): Promise<Ending> {
  const random = generator(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const service = new FakeService();
  service.alter = pick(ALTERATIONS);
  const view = pick(VIEWS);
  const share = pick([0, 0.1, 0.4]);
  // A false 201 with an id that no list has shown cannot be detected.
  const kinds = pick(FAULTS).filter((fate) => view === 'whole' || fate !== 'old');
  for (let count = Math.floor(random() * 6); count > 0; count--) service.seed({ name: `old ${count}` });
  const page = service.categories.length + 2 + Math.floor(random() * 8);
  let isHealthy = false;
  service.show = (all, ageMs) => (isHealthy ? all : shown(view, all, ageMs, page));
  service.isCached = () => !isHealthy && view === 'cached' && random() < 0.6;
  const it = new FakeImport(named(...rowNames(random)), service);
  let crashes = 0;
  let complete = false;
  let reported = false;
  let runs = 0;
  for (; runs < MOST_RUNS && !complete; runs++) {
    isHealthy = runs >= HEALTHY_FROM;
    const crashAt = runs < 3 && random() < 0.4 ? Math.floor(random() * it.rows.length) : -1;
    let sent = 0;
    service.fate = () => {
      if (sent++ === crashAt) return pick(['crash', 'crash-late']);
      return isHealthy || random() >= share ? 'ok' : pick(kinds);
    };
    const result = await it.run({ concurrency: pick([1, 2, 8]), maxRetries: 3 }, 'dead').catch(onlyExpected);
    if (!result) crashes++;
    complete = isComplete(result);
    if (complete) break;
    reported ||= surplus(it).length > 0;
    if (random() < 0.3) it.rows = [...shuffled(it.rows, random), { name: `Extra ${runs}` }];
  }
  rmSync(it.stateDir, { recursive: true, force: true });
  const counts = countsOf(it);
  const missing = it.rows.map(({ name }) => name).filter((name) => !counts.has(name));
  const twice = complete && !reported ? surplus(it) : [];
  return { seed, view, runs: runs + 1, crashes, complete, twice, missing: complete ? missing : [], reported };
}

function shown(
  view: (typeof VIEWS)[number],
  all: readonly Category[],
  ageMs: (category: Category) => number,
  page: number,
): readonly Category[] {
  if (view === 'stale') return all.filter((category) => ageMs(category) >= 900);
  if (view === 'oldest') return all.slice(0, page);
  if (view === 'by name') return [...all].sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, page);
  return all;
}

function rowNames(random: () => number): string[] {
  const names = Array.from({ length: 3 + Math.floor(random() * 8) }, (_, at) => `Row & number ${at}`);
  return random() < 0.4 ? [...names, 'Row & number 0', 'Row & number 1', 'Row & number 1'] : names;
}

function countsOf(it: FakeImport): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of it.service.sentAs.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function surplus(it: FakeImport): string[] {
  const counts = countsOf(it);
  const wanted = (name: string): number => it.rows.filter((row) => row.name === name).length;
  return [...new Set(it.rows.map(({ name }) => name))].filter((name) => (counts.get(name) ?? 0) > wanted(name));
}

// An incomplete list ends a run before it sends.
function onlyExpected(error: unknown): { readonly results: never; readonly stop: PetstoreError } {
  if (!(error instanceof PetstoreError) || error.kind === 'internal') throw error;
  return { results: undefined as never, stop: error };
}

function shuffled<T>(values: readonly T[], random: () => number): T[] {
  return values
    .map((value) => [random(), value] as const)
    .sort(([a], [b]) => a - b)
    .map(([, value]) => value);
}

// mulberry32
function generator(seed: number): () => number {
  let state = seed * 100_003;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
