// The journal: its records survive, one run at a time holds its lock, and no damaged or missing journal decides anything.
import * as fs from 'node:fs';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { LogFs } from '../../src/append-log/generations.ts';
import type { ProcessProbe } from '../../src/import/journal.ts';
import { Journal, SILENCE_MS } from '../../src/import/journal.ts';
import { fileJournals, journalName } from '../../src/import/journal-files.ts';
import type { RowState } from '../../src/import/journal-record.ts';
import { TRANSITIONS } from '../../src/import/journal-record.ts';
import type { JournalState } from '../../src/import/journal-state.ts';
import { journalFormat } from '../../src/import/journal-state.ts';
import { otherImports, readJournal, staleImportOf, supersede } from '../../src/import/other-journals.ts';
import { hasModes } from '../support/capabilities.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { tempDir } from '../support/temp-dir.ts';

const NAME = journalName('ab'.repeat(32));
const OTHER = journalName('cd'.repeat(32));
const SOURCE = '5'.repeat(32);
const header = { version: 2, source: SOURCE, rows: 4 } as const;

function processes(pid: number, judged: 'alive' | 'dead' | 'unknown'): ProcessProbe {
  return { self: { pid, start: '', host: 'here' }, isAlive: () => judged };
}

/** A state folder with the journals of one key. */
class Desk {
  readonly stateDir = tempDir();
  readonly clock = new FakeClock();
  readonly store = fileJournals(this.stateDir, 'https://secret.example/v1', 'a-secret-key');

  get dir(): string {
    const imports = join(this.stateDir, 'imports');
    return join(imports, readdirSync(imports)[0] ?? '');
  }

  get path(): string {
    return join(this.dir, readdirSync(this.dir).find((name) => name.startsWith(NAME)) ?? '');
  }

  lock(pid: number, judged: 'alive' | 'dead' | 'unknown' = 'dead', clock = this.clock) {
    return { clock, signal: new AbortController().signal, processes: processes(pid, judged) };
  }

  async acquire(pid = 1, judged: 'alive' | 'dead' | 'unknown' = 'dead', restart = false): Promise<Journal> {
    const journal = new Journal(await this.store.open(NAME, 'run'));
    await journal.acquire(header, restart, this.lock(pid, judged));
    return journal;
  }
}

const storage = (message: string | RegExp) =>
  expect.objectContaining({ kind: 'storage', exitCode: 9, message: expect.stringMatching(message) });

test('what a run recorded is known to the next, and rows in flight are unknown then', async () => {
  const desk = new Desk();
  const first = await desk.acquire();
  await first.recordBaseline(['7', '9223372036854775807', '7']);
  for (const row of [0, 1, 2, 3]) await first.record('send', row);
  await first.record('created', 0, '8');
  await first.record('unsent', 1);
  await first.record('failed', 2);
  const second = await desk.acquire(2);
  expect([...(second.state.baseline ?? [])]).toEqual(['7', '9223372036854775807']);
  expect(Object.fromEntries(second.state.rows)).toEqual({
    0: { state: 'created', attempts: 1, id: '8' },
    3: { state: 'unknown', attempts: 0 },
  });
  expect((await readJournal(desk.store, NAME, 4)).rows.get(0)?.id).toBe('8');
});

test.runIf(hasModes)('files and folders are private, and neither URL nor key is written', async () => {
  const desk = new Desk();
  await (await desk.acquire()).close();
  expect(statSync(desk.dir).mode & 0o777).toBe(0o700);
  expect(statSync(desk.path).mode & 0o777).toBe(0o600);
  expect(`${desk.path}${readFileSync(desk.path, 'utf8')}`).not.toContain('secret');
});

test('another key or base URL has journals of its own', async () => {
  const desk = new Desk();
  await (await desk.acquire()).record('send', 0);
  for (const [url, key] of [
    ['https://secret.example/v1', 'another-key'],
    ['https://other.example/v1', 'a-secret-key'],
  ] as const) {
    expect(await readJournal(fileJournals(desk.stateDir, url, key), NAME, 4)).toEqual(journalFormat.initial());
  }
});

test('while a run is alive a second one is refused; once it has ended the next takes over', async () => {
  const desk = new Desk();
  const first = await desk.acquire(11, 'alive');
  await expect(desk.acquire(12, 'alive')).rejects.toThrow('another run is already importing these rows (process 11)');
  await first.close();
  expect((await desk.acquire(12, 'alive')).state.lock?.pid).toBe(12);
});

test('a run whose process cannot be judged is refused while it writes, and taken over after a minute of silence', async () => {
  const desk = new Desk();
  const first = await desk.acquire(11, 'unknown');
  let waited: number[] = [];
  const second = new Journal(await desk.store.open(NAME, 'run'));
  const watch = (act: (leftMs: number) => void) =>
    second.acquire(header, false, {
      ...desk.lock(12, 'unknown'),
      onWait: (leftMs) => {
        waited.push(leftMs);
        act(leftMs);
      },
    });
  const writing = watch((leftMs) => {
    if (leftMs === 45_000) void first.record('absent', 0);
  });
  await expect(writing).rejects.toThrow('another run');
  waited = [];
  // Wall clocks are never compared: the watcher's jumps by hours meanwhile.
  await watch(() => {
    desk.clock.at += 3_600_000;
  });
  expect([waited[0], waited.length]).toEqual([SILENCE_MS, SILENCE_MS / 1000]);
  expect(() => first.assertHeld()).toThrow(storage('another run has taken over this import'));
  await expect(first.record('send', 1)).rejects.toEqual(storage('another run has taken over'));
  await expect(first.record('created', 0, '5')).rejects.toEqual(storage('another run has taken over'));
  // A 201 counts all the same.
  await second.record('absent', 2);
  expect(second.state.rows.get(0)).toMatchObject({ state: 'created', id: '5' });
  expect(second.state.rows.has(1)).toBe(false);
});

test('a run that sends nothing writes a record every 15 s', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const desk = new Desk();
  const journal = await desk.acquire();
  for (const beats of [1, 2]) {
    await vi.advanceTimersByTimeAsync(15_000);
    expect(readFileSync(desk.path, 'utf8').match(/"beat"/g)).toHaveLength(beats);
  }
  await journal.close();
});

test('a deleted journal stops the run before its next request', async () => {
  const desk = new Desk();
  const journal = await desk.acquire();
  journal.assertHeld();
  rmSync(desk.stateDir, { recursive: true });
  expect(() => journal.assertHeld()).toThrow(storage("the import's journal was deleted"));
});

test('a 201 outranks a look-up, which outranks nothing', async () => {
  const journal = await new Desk().acquire();
  for (const row of [0, 1, 2]) await journal.record('send', row);
  for (const row of [0, 2]) await journal.record('lost', row);
  await journal.record('found', 0, '5');
  await journal.record('found', 2, '5');
  expect(journal.state.rows.get(2)?.state).toBe('unknown');
  await journal.record('created', 1, '5');
  expect(journal.state.rows.get(0)).toEqual({ state: 'unknown', attempts: 1 });
  expect([...journal.state.owners]).toEqual([['5', 1]]);
  await journal.record('withdrawn', 1);
  expect(journal.state.rows.get(1)?.state).toBe('created');
});

test.each(['EACCES', 'EROFS', 'ENOSPC'])('a journal that cannot be written (%s) is exit code 9', async (code) => {
  const fail = (() => {
    throw Object.assign(new Error('no'), { code });
  }) as LogFs['writeSync'];
  const stateDir = tempDir();
  const journal = new Journal(await fileJournals(stateDir, 'url', 'key', { ...fs, writeSync: fail }).open(NAME, 'run'));
  await expect(journal.acquire(header, false, new Desk().lock(1))).rejects.toEqual(storage(code));
  writeFileSync(join(stateDir, 'file'), '');
  expect(() => fileJournals(join(stateDir, 'file'), 'url', 'key').open(NAME, 'run')).toThrow(storage('ENOTDIR|ENOENT'));
});

test('a file that was changed during its import is detected, a finished or other one is not', async () => {
  const desk = new Desk();
  const journal = await desk.acquire();
  const stale = (source = SOURCE, own = OTHER) => staleImportOf(desk.store, own, source);
  expect(await stale()).toBeUndefined();
  for (const row of [0, 1]) await journal.record('send', row);
  await journal.record('created', 0, '1');
  expect(await stale()).toEqual({ rows: 4, created: 1 });
  expect([await stale('6'.repeat(32)), await stale(SOURCE, NAME)]).toEqual([undefined, undefined]);
  await journal.recordFinished();
  expect(await stale()).toBeUndefined();
  await journal.record('send', 2);
  expect(await stale()).toBeDefined();
});

test('an import takes the place of an unfinished one of the same file, but not while that is running', async () => {
  const desk = new Desk();
  const journal = await desk.acquire(1, 'alive');
  await journal.record('send', 0);
  const running = supersede(desk.store, OTHER, SOURCE, desk.lock(2, 'alive'));
  await expect(running).rejects.toThrow('another run is already importing an earlier version of this file');
  await journal.close();
  await supersede(desk.store, OTHER, '6'.repeat(32), desk.lock(2));
  expect(await staleImportOf(desk.store, OTHER, SOURCE)).toEqual({ rows: 4, created: 0 });
  await supersede(desk.store, OTHER, SOURCE, desk.lock(2));
  expect(await staleImportOf(desk.store, OTHER, SOURCE)).toBeUndefined();
});

test('other imports know their categories and the requests they have in flight', async () => {
  const desk = new Desk();
  const journal = await desk.acquire();
  for (const row of [0, 1]) await journal.record('send', row);
  await journal.record('created', 0, '41');
  const { owned, inFlight } = await otherImports(desk.store, OTHER, processes(2, 'unknown'));
  expect([[...owned], inFlight.size]).toEqual([['41'], 1]);
  expect((await otherImports(desk.store, OTHER, processes(2, 'dead'))).inFlight.size).toBe(0);
  expect((await otherImports(desk.store, NAME)).owned.size).toBe(0);
});

test('a journal of another import that cannot be read is reported by name', async () => {
  const desk = new Desk();
  await (await desk.acquire()).close();
  const { path } = desk;
  rmSync(path);
  mkdirSync(path);
  for (const look of [otherImports(desk.store, OTHER), staleImportOf(desk.store, OTHER, SOURCE)]) {
    await expect(look).rejects.toEqual(storage(`(EISDIR|not a regular file).*${NAME}`));
  }
});

test('a journal of another version is not changed', async () => {
  const desk = new Desk();
  const journal = new Journal(await desk.store.open(NAME, 'run'));
  await journal.acquire({ ...header, version: 3 as 2 }, false, desk.lock(1));
  await expect(desk.acquire()).rejects.toEqual(storage('another version of petstore'));
});

test('reading a journal that does not exist creates none', async () => {
  const desk = new Desk();
  expect((await readJournal(desk.store, NAME, 4)).rows.size).toBe(0);
  expect(readdirSync(desk.stateDir)).toEqual([]);
});

test.each([
  '{',
  'null',
  '["new-kind","r"]',
  '["row","r","send"]',
  '["row","r","send",-1]',
  '["row","r","send",4]',
  '["row","r","send",0,"1"]',
  '["row","r","created",0,"x"]',
  '["row","r","constructor",0]',
  '["acquire","s",{"pid":1,"start":"","host":""},{"version":2}]',
  '["snapshot","",{"rows":[[0,{"state":"skipped","attempts":1}]],"finished":false}]',
  '["snapshot","",{"rows":[[0,{"state":"created","attempts":1}]],"finished":false}]',
  '["acquire","s",{"pid":"1"},{"version":2,"rows":4}]',
])('a journal with the record %s is damaged: exit code 9, and the file is not changed', async (record) => {
  const desk = new Desk();
  const log = await desk.store.open(NAME, 'run');
  await log.append('["acquire","r",{"pid":1,"start":"","host":""},{"version":2,"rows":4}]');
  try {
    await log.append(record);
  } catch {
    // Read again below, as another process would.
  }
  await expect(desk.acquire()).rejects.toEqual(storage(`damaged.*${NAME}`));
});

test('a file that no journal began is not taken for one', async () => {
  const desk = new Desk();
  await (await desk.acquire()).close();
  const { path } = desk;
  writeFileSync(path, 'name\ndog\n');
  await expect(desk.acquire()).rejects.toMatchObject({ kind: 'storage' });
  expect(readFileSync(path, 'utf8')).toBe('name\ndog\n');
});

const run = fc.constantFrom('r1', 'r2');
const row = fc.nat({ max: 3 });
const id = fc.constantFrom('1', '2', '3');
const record = fc.oneof(
  run.map((r) => ['acquire', r, { pid: 1, start: '', host: '' }, header]),
  fc.tuple(fc.constantFrom('release', 'restart', 'finished', 'beat', 'superseded'), run),
  fc.tuple(fc.constant('expire'), run, fc.nat({ max: 5 })),
  fc.tuple(fc.constant('baseline'), run, fc.array(id, { maxLength: 3 })),
  fc.tuple(
    fc.constant('row'),
    run,
    fc.constantFrom('send', 'failed', 'unsent', 'lost', 'timeout', 'absent', 'withdrawn'),
    row,
  ),
  fc.tuple(fc.constant('row'), run, fc.constantFrom('created', 'found'), row, id),
);

function reduce(records: Iterable<unknown>, state = journalFormat.initial()): JournalState {
  for (const one of records) journalFormat.apply(state, typeof one === 'string' ? one : JSON.stringify(one));
  return state;
}

test('a snapshot gives the same state, and the same states after it', () => {
  fc.assert(
    fc.property(fc.array(record, { maxLength: 40 }), fc.array(record, { maxLength: 15 }), (before, after) => {
      const whole = reduce(before);
      const short = reduce(journalFormat.snapshot(whole));
      expect(reduce(after, short)).toEqual(reduce(after, whole));
    }),
    { numRuns: 500 },
  );
});

test('no category ever belongs to two rows, and every created row has one', () => {
  fc.assert(
    fc.property(fc.array(record, { maxLength: 60 }), (records) => {
      const { rows, owners } = reduce(records);
      const created = [...rows].filter(([, { state }]) => state === 'created');
      expect(new Map(created.map(([at, entry]) => [entry.id, at]))).toEqual(owners);
      expect(created.length).toBe(owners.size);
    }),
    { numRuns: 500 },
  );
});

test('every state of a row is reached and left as the table of docs/import.md says', () => {
  const documented = readFileSync(join(import.meta.dirname, '../../docs/import.md'), 'utf8');
  for (const [event, { from, to }] of Object.entries(TRANSITIONS)) {
    expect(documented).toContain(
      `| \`${event}\` | ${from.map((state: RowState) => `\`${state}\``).join(', ')} | \`${to}\` |`,
    );
  }
});
