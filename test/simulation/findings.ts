// Defects that the worlds found, each with a world that fails again if its fix is undone: `npm run bench -- simulate --findings`.
import type { Mutation } from './simulator.ts';

interface Finding {
  readonly what: string;
  /** Undefined if no world is known to need the fix. */
  readonly seed?: number;
  /** The fix, undone. */
  readonly undone: Mutation;
}

export const FINDINGS: readonly Finding[] = [
  {
    what: 'An import that was interrupted with a create in flight did not report the outcome as unknown',
    seed: 9,
    undone: {
      file: 'src/import/import-error.ts',
      from: "const processed = unknown.length > 0 ? 'perhaps' : stop.processed;",
      to: 'const { processed } = stop;',
    },
  },
  {
    what: 'A request was sent while the 429 to another one was being recorded on the state server',
    seed: 26,
    undone: { file: 'src/rate-limit/ledger.ts', from: '!refused && confirm(', to: 'confirm(' },
  },
  {
    what: 'A request was sent while a block of the machine was being recorded on the state server that was back',
    undone: { file: 'src/rate-limit/ledger.ts', from: "one.kind === 'block' || ", to: '' },
  },
  {
    what: 'Of two 429s that an unavailable state server did not receive, only the later one was kept',
    undone: {
      file: 'src/rate-limit/failover.ts',
      from: '[...this.#unrecorded(), { ticket, seen }]',
      to: '[{ ticket, seen }]',
    },
  },
  {
    what: 'A block that was stated after the clock was set back ended at once',
    seed: 1021,
    undone: {
      file: 'src/rate-limit/ledger.ts',
      from: "if (isAhead(this.#log.last(), this.#now())) this.#write({ kind: 'clock', at: this.#now() });",
      to: '',
    },
  },
  {
    what: 'The time between two runs, or a clock that was set forward, counted as a wait that was needed',
    undone: {
      file: 'src/rate-limit/policy.ts',
      from: 'stated > 0, block !== undefined && !isNear);',
      to: 'stated > 0);',
    },
  },
  {
    what: 'A log whose first write was torn after one byte could never be opened again',
    seed: 355,
    undone: {
      file: 'src/append-log/file-log.ts',
      from: 'own.startsWith(begins))',
      to: "begins !== '~~' && own.startsWith(begins))",
    },
  },
  {
    what: 'A 429 that arrived after a sleep of the machine ended before its stated wait',
    undone: { file: 'src/rate-limit/ledger.ts', from: 'Math.round(at + aheadOnArrival)', to: 'Math.round(at + ahead)' },
  },
  {
    what: "After a long suspension a process waited half of it again, because it trusted a reply's wide bounds of the clock",
    undone: {
      file: 'src/rate-limit/server-clock.ts',
      from: ' && receivedAt - sentAt <= LONGEST_TRIP_MS',
      to: '',
    },
  },
  {
    what: "A ticket of the machine's own ledger was used during a block of the state server's ledger",
    seed: 238,
    undone: {
      file: 'src/rate-limit/failover.ts',
      from: 'return ledger === this.#current && ledger.confirm(ticket);',
      to: 'return ledger?.confirm(ticket) ?? false;',
    },
  },
  {
    what: 'After the clock was set forward, a 429 on its way to the state server was announced an hour too late',
    seed: 6,
    undone: { file: 'src/rate-limit/ledger.ts', from: 'stamped(record, this.#now())', to: 'record' },
  },
  {
    what: 'Without headers, the wait for the next day became the gap between requests',
    seed: 3287,
    undone: {
      file: 'src/rate-limit/pace.ts',
      from: 'Math.min(RULES.gapCapMs, Math.max(needed, passed < RULES.soon || step > 0 ? pace.widestMs : 0))',
      to: 'Math.max(needed, passed < RULES.soon || step > 0 ? pace.widestMs : 0)',
    },
  },
  {
    what: 'A request that had waited for its own process timed out waiting for another one',
    undone: {
      file: 'src/http/ticket-queue.ts',
      from: 'this.#isBusy() ? undefined : (othersSince ?? monotonic)',
      to: 'othersSince ?? monotonic',
    },
  },
];
