// The ledger's records as lines of JSON. An unknown record is ignored.
import type { LogFormat } from '../shared-log/log.ts';
import { isObject, tryParseJson } from '../shared-log/log.ts';
import type { KeyState } from './key-state.ts';
import { initialState } from './key-state.ts';
import type { LedgerRecord } from './ledger-record.ts';
import { reduce } from './policy.ts';

const KINDS = new Set<unknown>(['ticket', 'response', 'unsent', 'lost', 'clock', 'forget']);

export const ledgerFormat: LogFormat<KeyState> = {
  initial: initialState,
  apply(state, text, at) {
    const record = tryParseJson(text);
    if (!isObject(record)) return;
    if (record['kind'] === 'snapshot' && isObject(record['state'])) Object.assign(state, record['state']);
    else if (isRecord(record)) reduce(state, at === undefined ? record : { ...record, at });
  },
  snapshot: (state) => [JSON.stringify({ kind: 'snapshot', state })],
};

// The log has checked that petstore wrote the record, and the version in the log's name identifies the format.
function isRecord(value: Readonly<Record<string, unknown>>): value is LedgerRecord {
  const isComplete = value['kind'] !== 'response' || isObject(value['reading']);
  return isComplete && KINDS.has(value['kind']) && Number.isFinite(value['at']);
}
