// Random services and users who follow every hint, in virtual time: no unreported duplicate and no missing category.
import { expect, test } from 'vitest';
import { exitCodeOf } from '../../src/cli/report-error.ts';
import { PetstoreError } from '../../src/errors.ts';
import { importError } from '../../src/import/import-error.ts';
import { lockFormat } from '../../src/import/lock-format.ts';
import { seededRandom } from '../../src/sandbox/faults.ts';
import { MemoryLog } from '../../src/shared-log/log.ts';
import { FakeClock } from '../support/fake-clock.ts';
import type { Fate, Item } from './fake-service.ts';
import { EARLY_ENDS, FakeImport, FakeService, named, UNCERTAIN } from './fake-service.ts';

const NAMES = 'Dog,Cat,Cow,Bee & Co,Ant eater,Ant  hill,Yak,dog,Fox,Gnu,Hen,Elk,Emu,Owl,Ape,Abcdef,Abcd,Abcdxyz'.split(
  ',',
);
const ALTERATIONS: readonly ((name: string) => string)[] = [
  (name) => name.slice(0, 4),
  (name) => name.toLowerCase(),
  (name) => name.trim().replace(/ +/g, ' '),
  (name) => name.replaceAll('&', '&amp;'),
];
const MOST_RUNS = 25;
const MOST_FAULTS = 30;

/** @returns the violations: no complete run, an unreported duplicate, or a name that is missing after exit code 0 */
async function playRound(seed: number): Promise<readonly string[]> {
  const random = seededRandom(seed);
  const chance = (share: number): boolean => random() < share;
  const int = (below: number): number => Math.floor(random() * below);
  const pick = <T>(some: readonly T[]): T => some[int(some.length)] as T;
  const some = (most: number): string[] => Array.from({ length: int(most) }, () => pick(NAMES));

  const clock = new FakeClock(1_800_000_000_000, random);
  const service = new FakeService(clock);
  const alteration = chance(0.25) ? pick(ALTERATIONS) : undefined;
  const rejected = chance(0.2) ? pick(NAMES) : undefined;
  const [lostShare, hasFaults, hasBadLists, hasOthers] = [random() / 2, chance(0.8), chance(0.4), chance(0.3)];
  // If names change, no run ends early, because the next run would not know the changed names (docs/import.md).
  const fates = Object.keys({ ...UNCERTAIN, ...(!alteration && EARLY_ENDS) }) as Fate[];
  // Records are lost only without other faults: the next run must know of an ended run whose creates may still arrive.
  const losesRecords = !alteration && !hasFaults;
  let faults = hasFaults ? MOST_FAULTS : 0;
  const isFaulty = (share: number): boolean => faults > 0 && chance(share) && faults-- > 0;
  const addOthers = (share: number): unknown =>
    hasOthers && chance(share) && service.add({ name: chance(0.5) ? 'zebra' : pick(NAMES) }, 'another client');

  const runs = new FakeImport([], service);
  let snapshot = [...lockFormat.snapshot(runs.log.cached())];
  let lossAt = losesRecords ? int(200_000) : Number.POSITIVE_INFINITY;
  /** The server takes snapshots of its records, and falls back to the latest once. */
  const loseRecords = (): void => {
    if (clock.monotonic() >= lossAt) {
      Object.assign(runs.log.cached(), { holder: undefined }, new MemoryLog(lockFormat, snapshot).cached());
      lossAt = Number.POSITIVE_INFINITY;
    } else if (chance(0.1)) snapshot = [...lockFormat.snapshot(runs.log.cached())];
  };

  // If responses show the names that were sent, only a list reveals a changed name.
  const echoes = alteration !== undefined && chance(0.3);
  if (alteration) Object.assign(service.script, { alter: alteration, echoes });
  service.nextId = 1 + int(5);
  service.script.draw = int;
  for (const name of some(6)) service.add({ name });
  service.script.fate = (_at, name) => {
    addOthers(0.05);
    loseRecords();
    return name === rejected ? 'rejected' : isFaulty(lostShare) ? pick(fates) : 'ok';
  };
  service.script.onList = (kill) => {
    addOthers(0.15);
    loseRecords();
    if (alteration || !isFaulty(0.06)) return;
    if (chance(0.5)) kill();
    else throw new PetstoreError('service', 'server error (500)', { status: 500 });
  };
  const isBadList = (share: number): boolean => hasBadLists && !echoes && isFaulty(share);
  service.script.hasQuota = () => echoes || chance(0.7);
  let isCached = false;
  service.script.isCached = () => (isCached = !alteration && isBadList(0.14));
  // A cached list may be incomplete. Any other incomplete list lacks a category that its reader has seen; at most two are empty.
  let empty = 0;
  service.script.show = (all, _at, seen) => {
    if (isCached) return all.slice(0, int(all.length + 1));
    if (!isBadList(0.2)) return all;
    const part = all.slice(0, int(seen.size));
    const isEvident = [...seen].some((id) => !part.some((one) => one.id === id));
    return isEvident && (part.length > 0 || empty++ < 2) ? part : all;
  };

  runs.beats = true;
  runs.isOnServer = losesRecords;
  const run = async (file: readonly string[]) => {
    runs.rows = named(...file);
    const options = { concurrency: 1 + int(4) };
    try {
      const result = await runs.run(options);
      if (!result) return { code: 137, error: undefined };
      const error = importError(result.results.document(), result.stop);
      return { code: error ? exitCodeOf(error) : 0, error };
    } catch (error) {
      if (error instanceof PetstoreError) return { code: exitCodeOf(error), error };
      throw error;
    }
  };

  const violations: string[] = [];
  const wanted = new Set<string>();
  const reported = new Set<string>();
  const check = (file: readonly string[], { code, error }: Awaited<ReturnType<typeof run>>): void => {
    for (const name of wanted) {
      if (/several categories named/.test(error?.message ?? '') && error?.message.includes(alteration?.(name) ?? name))
        reported.add(name);
    }
    if (code !== 0) return;
    for (const name of file) {
      if (!service.items.some((one) => one.sent === name || one.name === name)) violations.push(`"${name}" is missing`);
    }
  };
  const checkTwice = (): void => {
    const created = service.items.filter(({ by }) => by.startsWith('process')).map(({ sent }) => sent);
    for (const name of new Set(created)) {
      const count = created.filter((one) => one === name).length;
      if (count > (wanted.has(name) ? 1 : 0) && !reported.has(name)) violations.push(`"${name}" exists ${count} times`);
    }
  };

  let file = [pick(NAMES), ...some(10)];
  let ends = 0;
  let knowsSpelling = false;
  for (let runs = 0; runs < MOST_RUNS && ends < 3 && file.length > 0; runs++) {
    for (const name of file) wanted.add(name);
    const imports = [run(file)];
    // A second import runs at the same time, with the same file or another one.
    if (!alteration && chance(losesRecords ? 0.6 : 0.12)) {
      const other = chance(0.5) ? file : [...file.slice(int(file.length)), pick(NAMES)];
      for (const name of other) wanted.add(name);
      imports.push(clock.sleep(1 + int(200)).then(() => run(other)));
      check(other, await (imports[1] as (typeof imports)[0]));
    }
    const ending = await (imports[0] as (typeof imports)[0]);
    check(file, ending);
    const hint = ending.error?.hint ?? '';
    if (ending.code === 0 || ending.code === 4) ends++;
    if (ending.code === 4) file = file.filter((name) => name !== rejected);
    else if (ending.code === 0 && chance(0.6)) file = [...file, ...some(2)].slice(chance(0.3) ? 1 : 0);
    knowsSpelling ||= /spelling|compare/.test(hint);
    if (knowsSpelling) file = respelled(file, service.items);
    await clock.sleep(int(20_000));
  }
  checkTwice();
  if (ends === 0) violations.push(`no run is complete`);
  return violations.map((what) => `seed ${seed}: ${what}`);
}

// The names of a file, with the service's spelling of each name that exists.
function respelled(names: readonly string[], categories: readonly Item[]): string[] {
  return names.map((name) => categories.find(({ sent }) => sent === name)?.name ?? name);
}

// `FUZZ_SCALE=20 npx vitest run test/import/fuzz-imports.test.ts` plays 20 times as many rounds.
const ROUNDS = 600 * Number(process.env['FUZZ_SCALE'] ?? 1);

test('despite random faults, the imports of a user who follows every hint omit no category and create no unreported duplicate', async () => {
  const violations: string[] = [];
  for (let seed = 1; seed <= ROUNDS; seed++) violations.push(...(await playRound(seed)));
  expect(violations).toEqual([]);
});
