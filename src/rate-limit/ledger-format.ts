// The ledger's records as lines of JSON, reduced by the policy.
import type { LogFormat } from '../append-log/log.ts';
import type { LedgerRecord } from './ledger-record.ts';
import { stamped } from './ledger-record.ts';
import type { KeyState } from './policy.ts';
import { initialState, reduce } from './policy.ts';

export const ledgerFormat: LogFormat<KeyState> = {
  initial: initialState,
  apply(state, text, at) {
    const record = JSON.parse(text) as LedgerRecord | { readonly kind: 'snapshot'; readonly state: KeyState };
    if (record.kind === 'snapshot') Object.assign(state, record.state);
    else reduce(state, at === undefined ? record : stamped(record, at));
  },
  *snapshot(state) {
    yield JSON.stringify({ kind: 'snapshot', state });
  },
};
