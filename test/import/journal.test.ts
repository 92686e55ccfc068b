// The journal: what it notes survives, one run at a time holds it, and a disk that fails stops everything.
import * as fs from 'node:fs';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LogFs } from '../../src/append-log/generations.ts';
import { currentProcess, isAlive } from '../../src/append-log/process-liveness.ts';
import { Journal } from '../../src/import/journal.ts';
import { SILENCE_MS } from '../../src/import/journal-lock.ts';
import type { JournalOptions, ProcessProbe } from '../../src/import/journal-paths.ts';
import { journalDir } from '../../src/import/journal-paths.ts';
import { journalFormat } from '../../src/import/journal-state.ts';
import { ownedElsewhere, readJournal, staleImportOf, supersede } from '../../src/import/other-journals.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { tempDir } from '../support/temp-dir.ts';

const clock = new FakeClock(1_800_000_000_000);
const DIGEST = 'ab'.repeat(32);
const head = { version: 1, source: '/files/species.csv', rows: 3 } as const;

function life(pid: number, state: 'alive' | 'dead' | 'unknown'): ProcessProbe {
  return { mark: { pid, start: '', host: 'here' }, ask: () => state };
}

function options(more: Partial<JournalOptions> = {}): JournalOptions {
  const stateDir = more.stateDir ?? tempDir();
  return { identity: 'https://pets.example/v1', digest: DIGEST, clock, life: life(1, 'dead'), ...more, stateDir };
}

test('what a run noted is known to the next, and half-done rows are undecided then', async () => {
  const at = options();
  const first = new Journal(at);
  first.take(head, false);
  await first.noteBaseline(['7', '9223372036854775807']);
  for (const row of [0, 1, 2, 3]) await first.send(row);
  first.created(0, '8');
  first.note(1, 'unsent');
  first.note(2, 'rejected');
  const second = new Journal(at);
  second.take(head, false);
  expect([...(second.state.baseline ?? [])]).toEqual(['7', '9223372036854775807']);
  expect(Object.fromEntries(second.state.rows)).toEqual({
    0: { status: 'created', tries: 1, id: '8' },
    3: { status: 'undecided', tries: 0 },
  });
  expect(readJournal(at).get(0)?.id).toBe('8');
});

test('files and folders are private, and neither address nor key is written', async () => {
  const at = options({ identity: 'https://secret.example/v1' });
  const journal = new Journal(at);
  journal.take(head, false);
  await journal.close();
  const dir = journalDir(at);
  const [file = ''] = readdirSync(dir);
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  expect(statSync(join(dir, file)).mode & 0o777).toBe(0o600);
  expect(`${dir}${readFileSync(join(dir, file), 'utf8')}`).not.toContain('secret');
});

test('while a run lives a second one is refused; once it has ended the next takes over', async () => {
  const at = options();
  const first = new Journal({ ...at, life: life(11, 'alive') });
  first.take(head, false);
  const second = new Journal({ ...at, life: life(12, 'alive') });
  expect(() => second.take(head, false)).toThrow('another run is importing these rows already (process 11)');
  await first.close();
  second.take(head, false);
  expect(second.state.holder?.pid).toBe(12);
});

test('a run that cannot be asked counts as dead after a minute of silence', () => {
  const at = options();
  new Journal({ ...at, life: life(11, 'unknown') }).take(head, false);
  const second = new Journal({ ...at, life: life(12, 'unknown') });
  expect(() => second.take(head, false)).toThrow('another run');
  const later = new FakeClock(clock.now() + SILENCE_MS);
  new Journal({ ...at, clock: later, life: life(13, 'unknown') }).take(head, false);
});

test('a run that was thought dead stops before it sends, but an answer it still gets counts', async () => {
  const at = options();
  const first = new Journal(at);
  first.take(head, false);
  await first.send(0);
  const second = new Journal({ ...at, life: life(2, 'dead') });
  second.take(head, false);
  await expect(first.send(1)).rejects.toMatchObject({
    kind: 'storage',
    message: /another run has taken this import over/,
  });
  expect(() => first.created(0, '5')).not.toThrow();
  expect(second.state.rows.get(0)).toEqual({ status: 'created', tries: 0, id: '5' });
  expect(second.state.rows.has(1)).toBe(false);
});

test('a category found for a row goes back to the row that the service itself names', async () => {
  const journal = new Journal(options());
  journal.take(head, false);
  for (const row of [0, 1]) await journal.send(row);
  journal.note(0, 'lost');
  journal.found(0, '5');
  journal.found(1, '5');
  expect(journal.state.rows.get(1)?.status).toBe('sending');
  journal.created(1, '5');
  expect(journal.state.rows.get(0)).toEqual({ status: 'undecided', tries: 1 });
  expect(journal.state.owners.get('5')).toBe(1);
});

test('a baseline that broke off counts for nothing', async () => {
  const at = options();
  const first = new Journal(at);
  first.take(head, false);
  const torn: LogFs = {
    ...fs,
    fdatasync: ((_fd: number, done: (error: Error) => void) => done(gone)) as LogFs['fdatasync'],
  };
  const gone = Object.assign(new Error('no space'), { code: 'ENOSPC' });
  await first.close();
  const second = new Journal({ ...at, fs: torn });
  second.take(head, false);
  await expect(second.noteBaseline(['1'])).rejects.toMatchObject({ kind: 'storage', exitCode: 9 });
  const third = new Journal(at);
  third.take(head, true);
  expect(third.state.baseline).toBeUndefined();
});

test.each(['EACCES', 'EROFS', 'ENOSPC'])('a journal that cannot be written (%s) is exit code 9', (code) => {
  const failing: LogFs = {
    ...fs,
    writeSync: (() => {
      throw Object.assign(new Error('no'), { code });
    }) as LogFs['writeSync'],
  };
  const journal = new Journal(options({ fs: failing }));
  expect(() => journal.take(head, false)).toThrow(expect.objectContaining({ kind: 'storage', exitCode: 9 }));
  const stateDir = join(tempDir(), 'file');
  fs.writeFileSync(stateDir, '');
  expect(() => new Journal(options({ stateDir }))).toThrow(expect.objectContaining({ kind: 'storage' }));
});

test('a file that was changed in the middle of its import is noticed, a finished or other one is not', async () => {
  const at = options();
  const journal = new Journal(at);
  journal.take(head, false);
  const changed = { ...at, digest: 'cd'.repeat(32) };
  expect(staleImportOf(changed, '/files/species.csv')).toBeUndefined();
  for (const row of [0, 1]) await journal.send(row);
  journal.created(0, '1');
  expect(staleImportOf(changed, '/files/species.csv')).toEqual({ rows: 3, created: 1 });
  expect(staleImportOf(changed, '/files/other.csv')).toBeUndefined();
  expect(staleImportOf(at, '/files/species.csv')).toBeUndefined();
  journal.finish();
  expect(staleImportOf(changed, '/files/species.csv')).toBeUndefined();
});

test('an import that takes the place of an unfinished one of the same file settles it', async () => {
  const at = options();
  const journal = new Journal(at);
  journal.take(head, false);
  await journal.send(0);
  await journal.close();
  const changed = { ...at, digest: 'cd'.repeat(32) };
  supersede(changed, '/files/other.csv');
  expect(staleImportOf(changed, '/files/species.csv')).toEqual({ rows: 3, created: 0 });
  supersede(changed, '/files/species.csv');
  expect(staleImportOf(changed, '/files/species.csv')).toBeUndefined();
  const again = new Journal(at);
  again.take(head, false);
  await again.send(1);
  expect(staleImportOf(changed, '/files/species.csv')).toBeDefined();
});

test('while a run imports a file as it was before, no other takes its place', async () => {
  const at = options({ life: life(1, 'alive') });
  const journal = new Journal(at);
  journal.take(head, false);
  await journal.send(0);
  const changed = { ...at, digest: 'cd'.repeat(32) };
  expect(() => supersede(changed, '/files/species.csv')).toThrow(
    expect.objectContaining({ kind: 'usage', message: expect.stringContaining('another run is importing this file') }),
  );
  expect(staleImportOf(changed, '/files/species.csv')).toBeDefined();
  await journal.close();
  supersede(changed, '/files/species.csv');
});

test('a journal of another import that cannot be read is named, with what to do', () => {
  const at = options();
  new Journal(at).take(head, false);
  const [name = ''] = readdirSync(journalDir(at));
  rmSync(join(journalDir(at), name));
  mkdirSync(join(journalDir(at), name));
  const changed = { ...at, digest: 'cd'.repeat(32) };
  for (const look of [() => ownedElsewhere(changed), () => staleImportOf(changed, '/files/species.csv')]) {
    expect(look).toThrow(expect.objectContaining({ kind: 'storage', message: expect.stringContaining('EISDIR') }));
  }
});

test('categories of another import into the same service are not free to be claimed', async () => {
  const at = options();
  const journal = new Journal(at);
  journal.take(head, false);
  await journal.send(0);
  journal.created(0, '41');
  expect([...ownedElsewhere({ ...at, digest: 'cd'.repeat(32) })]).toEqual(['41']);
  expect([...ownedElsewhere(at)]).toEqual([]);
  expect([...ownedElsewhere({ ...at, identity: 'https://other.example/v1', digest: 'cd'.repeat(32) })]).toEqual([]);
});

test('a journal of a newer version is left as it is', () => {
  const at = options();
  new Journal(at).take({ ...head, version: 2 as 1 }, false);
  expect(() => new Journal(at).take(head, false)).toThrow(expect.objectContaining({ kind: 'storage', exitCode: 9 }));
});

test('looking into a journal that is not there begins none', () => {
  const at = options();
  expect(readJournal(at).size).toBe(0);
  expect(readdirSync(at.stateDir)).toEqual([]);
});

const run = fc.constantFrom('r1', 'r2');
const rowNumber = fc.nat({ max: 4 });
const id = fc.constantFrom('1', '2', '3');
const mark = { pid: 1, start: '', host: '' };
const record = fc.oneof(
  run.map((r) => ['take', r, mark, 5]),
  run.map((r) => ['drop', r]),
  run.map((r) => ['reset', r]),
  run.map((r) => ['finished', r]),
  fc.constant(['superseded']),
  fc.constant(['head', head]),
  fc.tuple(fc.constant('base'), run, fc.array(id, { maxLength: 3 })),
  fc.tuple(fc.constant('based'), run, fc.nat({ max: 3 })),
  fc.tuple(fc.constantFrom('send', 'rejected', 'unsent', 'lost', 'absent'), run, rowNumber),
  fc.tuple(fc.constantFrom('created', 'found'), run, rowNumber, id),
);

test('a journal that is rewritten shorter says the same, and goes on the same', () => {
  fc.assert(
    fc.property(fc.array(record, { maxLength: 40 }), fc.array(record, { maxLength: 15 }), (before, after) => {
      const whole = journalFormat.initial();
      for (const one of before) journalFormat.apply(whole, JSON.stringify(one));
      const short = journalFormat.initial();
      for (const line of journalFormat.snapshot(whole)) journalFormat.apply(short, line);
      for (const one of after) for (const state of [whole, short]) journalFormat.apply(state, JSON.stringify(one));
      expect(short).toEqual(whole);
    }),
    { numRuns: 500 },
  );
});

test('no category ever belongs to two rows', () => {
  fc.assert(
    fc.property(fc.array(record, { maxLength: 60 }), (records) => {
      const state = journalFormat.initial();
      for (const one of records) journalFormat.apply(state, JSON.stringify(one));
      const ids = [...state.rows.values()].flatMap((entry) => (entry.id === undefined ? [] : [entry.id]));
      expect(new Set(ids).size).toBe(ids.length);
    }),
    { numRuns: 500 },
  );
});

test('records that make no sense are passed over', () => {
  const state = journalFormat.initial();
  for (const line of ['', '{', 'null', '7', '["new-kind",1]', '["send"]']) journalFormat.apply(state, line);
  expect(state).toEqual(journalFormat.initial());
});

test('this process lives; one with its pid that started at another time does not', () => {
  expect(isAlive(currentProcess())).not.toBe('dead');
  if (currentProcess().start !== '') expect(isAlive({ ...currentProcess(), start: '1' })).toBe('dead');
  expect(isAlive({ ...currentProcess(), start: '', pid: 2 ** 22 + 1 })).toBe('dead');
  expect(isAlive({ ...currentProcess(), host: 'elsewhere - -' })).toBe('unknown');
});
