// Plays each line of the table in docs/import.md, "The states of a row", and checks the next state and the record.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Fate } from './fake-service.ts';
import { FakeImport, named } from './fake-service.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/import.md'), 'utf8');
const section = text.slice(text.indexOf('## The states of a row'), text.indexOf('An attempt may be sent again'));
const lines = section
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

interface Play {
  readonly fate?: Fate;
  readonly before?: (it: FakeImport) => void;
  /** The state at the end of the run, if it continues after the event. */
  readonly ends?: string;
}

const hidden = (it: FakeImport): void => {
  it.service.isCached = () => it.service.lists > 1;
};

/** How the event happens to the only row of the file. */
const PLAYS: Readonly<Record<string, Play>> = {
  'the list has its name': { before: (it) => void it.service.add({ name: 'dog' }) },
  'the attempt is on disk': { fate: 'crash' },
  '201 with a new id': { fate: 'ok' },
  '400, 409, 413, 422': { fate: 'rejected' },
  '401, 429, no connection, Ctrl-C before sending': { fate: 'unauthorized' },
  'response lost, 5xx, or 201 with a known id': { fate: 'old', before: hidden },
  'timeout, 202, 408, 504': { fate: 'slow', before: hidden },
  'a list has a new category of its name': { fate: 'lost' },
  'a list proves its absence': { fate: 'cut', ends: 'created' },
  'a list proves nothing': { fate: 'lost', before: hidden },
};

test('the table of states in docs/import.md names exactly the events played here', () => {
  expect(lines.map(([, event]) => event)).toEqual(Object.keys(PLAYS));
});

test.each(lines)('a row in state %s changes on "%s" to %s', async (_from, event = '', to = '', recorded = '') => {
  const { fate, before, ends } = PLAYS[event] ?? {};
  const it = new FakeImport(named('dog'));
  it.service.seed({ name: 'old' });
  before?.(it);
  if (fate) it.service.fates.push(fate);
  const states: (string | undefined)[] = [];
  const result = await it.run({ onProgress: (results) => void states.push(results.stateOf(0)) });
  const state = result ? (result.results.stateOf(0) ?? 'missing') : 'sending';
  if (ends) {
    expect(state).toBe(ends);
    expect(states.map((one) => `\`${one ?? 'missing'}\``)).toContain(to);
  } else expect(`\`${state}\``).toBe(to);
  const dir = join(it.stateDir, 'imports');
  const journal = readdirSync(dir)
    .map((name) => readFileSync(join(dir, name), 'utf8'))
    .join('');
  const kind = /`(\w+)`/.exec(recorded)?.[1];
  if (kind) expect(journal).toContain(`["${kind}",`);
});
