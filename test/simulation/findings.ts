// Defects that the worlds found, each with a world that fails again if its fix is undone: `npm run bench -- simulate --findings`.
import type { Mutation } from './simulator.ts';

interface Finding {
  readonly what: string;
  /** Undefined if no world is known to need the fix. */
  readonly seed?: number;
  /** The fix, undone. */
  readonly undone: Mutation;
}

const journal = (from: string, to: string): Mutation => ({ file: 'src/import/journal.ts', from, to });
const run = (from: string, to: string): Mutation => ({ file: 'src/import/run.ts', from, to });

export const FINDINGS: readonly Finding[] = [
  {
    what: 'A restart of the state server brought back attempts that had been settled, and they claimed categories of others',
    undone: journal('if (isSettled && !uncertain.has(attempt)) await this.recordAbsent(attempt);', ''),
  },
  {
    what: 'An attempt that was settled by the append that showed a loss was restored as uncertain',
    undone: journal('if (creation) await this.recordFound(attempt, creation);\n      else if', 'if'),
  },
  {
    what: 'A rotation by the run itself restored attempts that were recorded as absent',
    undone: journal('|| isEnded() ||', '||'),
  },
  {
    what: 'A rotation of the journal by another machine restored attempts that had created their category',
    undone: journal('|| this.#creationOf(attempt)) continue;', ') continue;'),
  },
  {
    what: 'A run that had waited for the lock restored what the run before it had settled meanwhile',
    undone: {
      file: 'src/import/journal-server.ts',
      from: 'if (refreshing) lost ??= before;\n    else',
      to: 'lost ??= before;\n   ',
    },
  },
  {
    what: 'Rows were looked up before an evicted journal was restored',
    undone: run(
      'const listed = await this.#wholeList();\n    await journal.restoreLost();',
      'const listed = await this.#wholeList();',
    ),
  },
  {
    what: 'A list without an id that two responses had named counted as complete',
    undone: run('...this.#named, ', ''),
  },
  {
    what: 'A created row was withdrawn by the dispute of another row while its record was on its way',
    undone: run(
      "this.results.set(row, { state: 'created', attempt, category });\n        return true;",
      'return true;',
    ),
  },
  {
    what: 'An empty list after one that showed the account counted as another account',
    undone: run('if (listed.length > 0 || at < 0) at =', 'at ='),
  },
  {
    what: 'An import that was interrupted with a create in flight did not report the outcome as unknown',
    seed: 234,
    undone: {
      file: 'src/import/import-error.ts',
      from: "const processed = unknown.length > 0 ? 'perhaps' : stop.processed;",
      to: 'const { processed } = stop;',
    },
  },
  {
    what: 'A request was sent while the 429 to another one was being recorded on the state server',
    seed: 284,
    undone: { file: 'src/rate-limit/ledger.ts', from: '!refused && confirm(', to: 'confirm(' },
  },
  {
    what: 'A request was sent while a block of the machine was being recorded on the state server that was back',
    seed: 2037,
    undone: { file: 'src/rate-limit/ledger.ts', from: "one.kind === 'block' || ", to: '' },
  },
  {
    what: 'Of two 429s that an unavailable state server did not receive, only the later one was kept',
    seed: 3660,
    undone: {
      file: 'src/rate-limit/failover.ts',
      from: '[...this.#unrecorded(), { ticket, seen }]',
      to: '[{ ticket, seen }]',
    },
  },
  {
    what: 'A block that was stated after the clock was set back ended at once',
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
    undone: {
      file: 'src/append-log/file-log.ts',
      from: 'own.startsWith(begins))',
      to: "begins !== '~~' && own.startsWith(begins))",
    },
  },
];
