// The ledger's records as lines of JSON. An unknown record is ignored: another program or version has written it.
import type { LogFormat } from '../append-log/log.ts';
import { isObject, parseJson } from '../append-log/log.ts';
import type { KeyState } from './key-state.ts';
import { initialState } from './key-state.ts';
import type { LedgerRecord } from './ledger-record.ts';
import { reduce } from './policy.ts';

const KINDS = new Set<unknown>(['ticket', 'response', 'unsent', 'lost', 'clock', 'forget']);

export const ledgerFormat: LogFormat<KeyState> = {
  initial: initialState,
  apply(state, text, at) {
    const record = parseJson(text);
    if (isSnapshot(record)) Object.assign(state, record.state);
    else if (isRecord(record)) reduce(state, at === undefined ? record : { ...record, at });
  },
  snapshot: (state) => [JSON.stringify({ kind: 'snapshot', state })],
};

function isSnapshot(value: unknown): value is { readonly state: KeyState } {
  if (!isObject(value) || value['kind'] !== 'snapshot' || !isObject(value['state'])) return false;
  const { tickets, unanswered } = value['state'];
  return isObject(tickets) && Array.isArray(unanswered);
}

function isRecord(value: unknown): value is LedgerRecord {
  if (!isObject(value) || !KINDS.has(value['kind']) || !Number.isFinite(value['at'])) return false;
  return value['kind'] !== 'response' || isObject(value['reading']);
}
