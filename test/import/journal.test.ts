// The journal in a file: its records survive, one run at a time holds its lock, and a damaged or missing journal stops the run.
import * as fs from 'node:fs';
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { LogFs } from '../../src/append-log/generations.ts';
import type { LockOptions } from '../../src/import/journal.ts';
import { Journal, SILENCE_MS } from '../../src/import/journal.ts';
import { hasFileJournal, openFileJournal } from '../../src/import/journal-file.ts';
import type { JournalRecord } from '../../src/import/journal-record.ts';
import { formatRecord } from '../../src/import/journal-record.ts';
import type { JournalState } from '../../src/import/journal-state.ts';
import { journalFormat } from '../../src/import/journal-state.ts';
import { hasModes } from '../support/capabilities.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { tempDir } from '../support/temp-dir.ts';

const URL = 'https://secret.example/v1';
type Verdict = 'alive' | 'dead' | 'unknown';

/** A machine with a state directory, on which runs follow one another. */
class Machine {
  readonly stateDir = tempDir();
  readonly clock = new FakeClock();

  get dir(): string {
    return join(this.stateDir, 'imports');
  }

  get path(): string {
    return join(this.dir, readdirSync(this.dir)[0] ?? '');
  }

  open(): Journal {
    return new Journal(openFileJournal(this.stateDir, URL));
  }

  lock(pid: number, liveness: Verdict): LockOptions {
    const processes = { self: { pid, start: '', host: 'here' }, livenessOf: () => liveness };
    return { clock: this.clock, signal: new AbortController().signal, processes };
  }

  async acquire(pid = 1, liveness: Verdict = 'dead'): Promise<Journal> {
    const journal = this.open();
    await journal.acquire(this.lock(pid, liveness));
    return journal;
  }
}

const storage = (message: string | RegExp) =>
  expect.objectContaining({ kind: 'storage', exitCode: 9, message: expect.stringMatching(message) });

test('the next run knows the records of a run, and the outcome of its requests in flight is unknown', async () => {
  const machine = new Machine();
  const first = await machine.acquire();
  await first.recordKnown([
    ['7', 'a'],
    ['9223372036854775807', 'b'],
  ]);
  const [sent, lost, slow] = [
    await first.recordSend('dog'),
    await first.recordSend('cat'),
    await first.recordSend('cow'),
  ];
  await first.recordSend('ant');
  await first.recordCreated(sent as string, ['8', 'c']);
  await first.recordAbsent(lost as string);
  await first.recordSlow(slow as string);
  const { known, created, uncertain } = (await machine.acquire(2)).account;
  expect([...known].map(([id, { at, label }]) => [id, at, label])).toEqual([
    ['7', 0, 'a'],
    ['9223372036854775807', 1, 'b'],
  ]);
  expect([...created]).toEqual([['8', { attempt: sent, name: 'dog', label: 'c' }]]);
  expect([...uncertain.values()]).toEqual([
    { name: 'cow', known: 2, slow: true },
    { name: 'ant', known: 2 },
  ]);
});

test.runIf(hasModes)('the journal and its directory are private, and the base URL is not written', async () => {
  const machine = new Machine();
  await (await machine.acquire()).close();
  expect(statSync(machine.dir).mode & 0o777).toBe(0o700);
  expect(statSync(machine.path).mode & 0o777).toBe(0o600);
  expect(`${machine.path}${readFileSync(machine.path, 'utf8')}`).not.toContain('secret');
});

test('each base URL has its own journal', async () => {
  const machine = new Machine();
  expect(hasFileJournal(machine.stateDir, URL)).toBe(false);
  await (await machine.acquire()).recordSend('dog');
  expect([hasFileJournal(machine.stateDir, URL), hasFileJournal(machine.stateDir, `${URL}/`)]).toEqual([true, false]);
});

test('a run whose process has died is taken over immediately', async () => {
  const machine = new Machine();
  const first = await machine.acquire(11);
  const second = await machine.acquire(12, 'dead');
  expect(machine.clock.slept).toEqual([]);
  second.assertHeld();
  expect(() => first.assertHeld()).toThrow(storage('another process has taken over this import'));
  await expect(first.recordSend('dog')).rejects.toEqual(storage('taken over'));
});

test('a run whose process cannot be seen is taken over after 60 s without a record', async () => {
  const machine = new Machine();
  const first = await machine.acquire(11);
  let polls = 0;
  const second = machine.open();
  const options = machine.lock(12, 'unknown');
  const clock = {
    ...options.clock,
    monotonic: () => machine.clock.monotonic(),
    sleep: async (ms: number) => {
      // A record after 45 s restarts the 60 s; jumps of the wall clock make no difference.
      if (++polls === 225) await first.recordAbsent('none');
      machine.clock.at += 3_600_000;
      await machine.clock.sleep(ms);
    },
  };
  await second.acquire({ ...options, clock });
  expect(machine.clock.monotonic()).toBe(45_000 + SILENCE_MS);
  expect(() => first.assertHeld()).toThrow(storage('taken over'));
});

test('a run that sends nothing writes a record every 15 s', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const machine = new Machine();
  const journal = await machine.acquire();
  for (const beats of [1, 2]) {
    await vi.advanceTimersByTimeAsync(15_000);
    expect(readFileSync(machine.path, 'utf8').match(/"beat"/g)).toHaveLength(beats);
  }
  await journal.close();
});

test.each<[string, (machine: Machine) => void]>([
  ['deleted', ({ stateDir }) => rmSync(stateDir, { recursive: true })],
  ['moved', ({ stateDir }) => renameSync(stateDir, `${stateDir}-moved`)],
])('a journal that was %s stops the run before its next request', async (_how, act) => {
  const machine = new Machine();
  const journal = await machine.acquire();
  journal.assertHeld();
  act(machine);
  expect(() => journal.assertHeld()).toThrow(storage('the import journal was moved or deleted'));
});

test('a 201 with a known id leaves its attempt uncertain, and one with the id of another attempt makes both uncertain', async () => {
  const journal = await new Machine().acquire();
  await journal.recordKnown([['1', 'old']]);
  const [one, two, three] = [
    await journal.recordSend('a'),
    await journal.recordSend('b'),
    await journal.recordSend('c'),
  ];
  expect(await journal.recordCreated(one as string, ['1', 'old'])).toBe(false);
  expect(await journal.recordCreated(two as string, ['2', 'x'])).toBe(true);
  expect(await journal.recordCreated(three as string, ['2', 'x'])).toBe(false);
  expect([[...journal.account.uncertain.keys()].sort(), journal.account.created.size]).toEqual([
    [one, two, three].sort(),
    0,
  ]);
});

test('a settled creation counts as a known category', async () => {
  const machine = new Machine();
  const journal = await machine.acquire();
  for (const id of ['1', '2']) await journal.recordCreated(await journal.recordSend(`n${id}`), [id, `label${id}`]);
  await journal.recordSettled(['1']);
  const { known, created } = (await machine.acquire(2)).account;
  expect([[...known], [...created.keys()]]).toEqual([[['1', { at: 0, label: 'label1' }]], ['2']]);
});

test('a deleted category is no longer expected in a list', async () => {
  const machine = new Machine();
  const journal = await machine.acquire();
  for (const id of ['1', '2', '3']) await journal.recordCreated(await journal.recordSend(`n${id}`), [id, `label${id}`]);
  await journal.recordKnown([['4', 'label4']]);
  await journal.recordDeleted(['2', '1', '4']);
  const { known, created } = (await machine.acquire(2)).account;
  expect([[...known], [...created.keys()]]).toEqual([[['4', { at: 0, label: '' }]], ['3']]);
});

test('the oldest of more than 20 accounts is forgotten unless it has an uncertain attempt', async () => {
  const journal = await new Machine().acquire();
  await journal.recordSend('uncertain');
  for (let index = 1; index <= 22; index++) {
    await journal.useAccount(Math.min(index, journal.accounts.length));
    await journal.recordKnown([[String(index), 'x']]);
  }
  expect(journal.accounts).toHaveLength(20);
  expect([journal.accounts[0]?.uncertain.size, [...journal.account.known.keys()]]).toEqual([1, ['22']]);
});

test.each(['EACCES', 'EROFS', 'ENOSPC'])('a journal that cannot be written (%s) causes exit code 9', async (code) => {
  const fail = (() => {
    throw Object.assign(new Error('no'), { code });
  }) as LogFs['writeSync'];
  const stateDir = tempDir();
  const journal = new Journal(openFileJournal(stateDir, URL, { ...fs, writeSync: fail }));
  await expect(journal.acquire(new Machine().lock(1, 'dead'))).rejects.toEqual(storage(code));
  writeFileSync(join(stateDir, 'file'), '');
  expect(() => openFileJournal(join(stateDir, 'file'), URL)).toThrow(storage('not a directory|no such file'));
});

test('a journal file that petstore did not write causes exit code 9 and is not changed', async () => {
  const machine = new Machine();
  await (await machine.acquire()).close();
  writeFileSync(machine.path, 'some other text\n');
  expect(() => machine.open()).toThrow(
    storage(/^cannot use the import journal: .*\.1\.log is not a petstore data file$/),
  );
  expect(readFileSync(machine.path, 'utf8')).toBe('some other text\n');
});

test.each([
  ['a wrong checksum', '0 ["beat","r"]'],
  ['no checksum', '["beat","r"]'],
  ...['null', '["new-kind","r"]', '["constructor","r"]'].map((json) => [
    `the content ${json}`,
    formatRecord(JSON.parse(json) as JournalRecord),
  ]),
])('a journal with a record that has %s causes exit code 9 and is not changed', async (_what, record) => {
  const machine = new Machine();
  await (await machine.acquire()).close();
  // An invalid record is written before it is rejected.
  expect(() => openFileJournal(machine.stateDir, URL).append(record)).toThrow();
  const before = readFileSync(machine.path, 'utf8');
  await expect(machine.acquire(2)).rejects.toEqual(storage(/^cannot use the import journal: .*\.1\.log is damaged$/));
  expect(readFileSync(machine.path, 'utf8')).toBe(before);
});

test('a changed byte in a record is detected as damage', async () => {
  const machine = new Machine();
  const journal = await machine.acquire();
  await journal.recordKnown([['1', 'abc']]);
  await journal.recordCreated(await journal.recordSend('dog'), ['2', 'def']);
  const text = readFileSync(machine.path, 'utf8');
  const names = [...text.matchAll(/"(?:dog|abc|def|send|created)"/g)].map(({ index }) => index + 1);
  expect(names).toHaveLength(5);
  for (const at of names) {
    writeFileSync(machine.path, `${text.slice(0, at)}X${text.slice(at + 1)}`);
    await expect(machine.acquire(2)).rejects.toEqual(storage('damaged'));
  }
});

const run = fc.constantFrom('r1', 'r2');
const id = fc.constantFrom('1', '2', '3');
const attempt = fc.constantFrom('a', 'b', 'c');
const record = fc.oneof(
  run.map((r) => ['acquire', r, { pid: 1, start: '', host: '' }]),
  fc.tuple(fc.constantFrom('release', 'beat'), run),
  fc.tuple(fc.constant('expire'), run, fc.nat({ max: 5 })),
  fc.tuple(fc.constant('account'), run, fc.nat({ max: 3 })),
  fc.tuple(fc.constant('known'), run, fc.array(fc.tuple(id, fc.constant('x')), { maxLength: 3 })),
  fc.tuple(fc.constant('send'), run, attempt, fc.constantFrom('dog', 'cat')),
  fc.tuple(fc.constantFrom('slow', 'absent'), run, attempt),
  fc.tuple(fc.constantFrom('created', 'found'), run, attempt, id, fc.constantFrom('x', 'y')),
  fc.tuple(fc.constantFrom('settled', 'deleted'), run, fc.array(id, { maxLength: 2 })),
);

function reduce(records: Iterable<unknown>, state = journalFormat.initial()): JournalState {
  for (const one of records) {
    journalFormat.apply(state, typeof one === 'string' ? one : formatRecord(one as JournalRecord));
  }
  return state;
}

test('a snapshot restores the state, and later records have the same effect on it', () => {
  fc.assert(
    fc.property(fc.array(record, { maxLength: 40 }), fc.array(record, { maxLength: 15 }), (before, after) => {
      const whole = reduce(before);
      const short = reduce(journalFormat.snapshot(whole));
      expect(reduce(after, short)).toEqual(reduce(after, whole));
    }),
    { numRuns: 500 },
  );
});

test('no attempt is both created and uncertain, and no two creations share an attempt', () => {
  fc.assert(
    fc.property(fc.array(record, { maxLength: 60 }), (records) => {
      const attempts = new Set<string>();
      for (const [kind, , value] of records) {
        if (kind === 'send') attempts.add(value as string);
      }
      for (const { created, uncertain } of reduce(records.filter(([kind], at) => isFirstSend(records, kind, at)))
        .accounts) {
        const done = [...created.values()].map((one) => one.attempt);
        expect(new Set(done).size).toBe(done.length);
        expect(done.filter((one) => uncertain.has(one))).toEqual([]);
      }
    }),
    { numRuns: 500 },
  );
});

// A run never reuses the number of an attempt.
function isFirstSend(records: readonly (readonly unknown[])[], kind: unknown, at: number): boolean {
  return kind !== 'send' || records.findIndex((one) => one[0] === 'send' && one[2] === records[at]?.[2]) === at;
}
