// Checks the records of a journal as they are read: a damaged journal must not decide what is sent.
import type { JournalRecord } from './journal-state.ts';

/** The journal contains a record that petstore did not write. */
export class DamagedJournalError extends Error {
  override readonly name = 'DamagedJournalError';
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string' && value.length <= 4096;
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isId: Check = (value) => typeof value === 'string' && /^-?\d{1,19}$/.test(value);
const isIds: Check = (value) => Array.isArray(value) && value.every(isId);
const isTrue: Check = (value) => value === true;
const isJournaledState: Check = (value) =>
  ['pending', 'sending', 'unknown', 'created', 'failed'].includes(value as string);

function optional(check: Check): Check {
  return (value) => value === undefined || check(value);
}

function object(fields: Readonly<Record<string, Check>>): Check {
  return (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(fields).every(([name, check]) => check((value as Record<string, unknown>)[name]));
}

const PROCESS = { pid: isCount, start: isText, host: isText };
const ENTRY = object({
  state: isJournaledState,
  attempts: isCount,
  id: optional(isId),
  found: optional(isTrue),
  slow: optional(isTrue),
});
const hasIdWhereCreated: Check = (value) => {
  const { state, id } = value as { readonly state: string; readonly id?: string };
  return (state === 'created') === (id !== undefined);
};
const HEADER = object({ version: isCount, source: optional(isText), rows: isCount });
const KEPT = object({
  lock: optional(object({ ...PROCESS, run: isText, beats: isCount })),
  draft: isIds,
  finished: (value) => typeof value === 'boolean',
});

const RUN = [isText];
const ROW = [isText, isCount];
const ROW_AND_ID = [isText, isCount, isId];

const SHAPES: Readonly<Record<JournalRecord[0], readonly Check[]>> = {
  header: [HEADER],
  acquire: [isText, object(PROCESS)],
  release: RUN,
  beat: RUN,
  restart: RUN,
  finished: RUN,
  expire: [isText, isCount],
  superseded: [],
  baseline: [isText, isIds],
  'baseline-end': [isText, isCount],
  send: ROW,
  failed: ROW,
  unsent: ROW,
  lost: ROW,
  timeout: ROW,
  withdrawn: ROW,
  absent: ROW,
  created: ROW_AND_ID,
  found: ROW_AND_ID,
  kept: [KEPT],
  'kept-baseline': [isIds],
  'kept-row': [isCount, (value) => ENTRY(value) && hasIdWhereCreated(value)],
};

/** @throws DamagedJournalError */
export function parseRecord(text: string): JournalRecord {
  let record: unknown;
  try {
    record = JSON.parse(text);
  } catch {
    throw new DamagedJournalError('not valid JSON');
  }
  const [kind, ...fields] = Array.isArray(record) ? (record as unknown[]) : [];
  const checks = typeof kind === 'string' && Object.hasOwn(SHAPES, kind) ? SHAPES[kind as JournalRecord[0]] : undefined;
  if (!checks || checks.length !== fields.length || !checks.every((check, at) => check(fields[at]))) {
    throw new DamagedJournalError('not a record of an import');
  }
  return record as JournalRecord;
}
