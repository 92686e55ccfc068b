// The log format of the ledger, reduced by the policy.
import { createHash } from 'node:crypto';
import type { LogFormat } from '../append-log/log.ts';
import { DamagedRecordError } from '../append-log/log.ts';
import { parseRecord } from './ledger-record.ts';
import type { KeyState } from './policy.ts';
import { initialState, reduce } from './policy.ts';

const sum = (json: string): string => createHash('sha256').update(json).digest('hex').slice(0, 16);

export const ledgerFormat: LogFormat<KeyState> = {
  initial: initialState,
  apply(state, text) {
    const record = parseRecord(text);
    if (record) return reduce(state, record);
    // Accept a snapshot only if it is undamaged and at the head of a generation.
    const [, digest, json = ''] = /^snapshot (\w+) (.*)$/.exec(text) ?? [];
    if (state.seq > 0 || digest !== sum(json)) throw new DamagedRecordError('not a record of the ledger');
    Object.assign(state, JSON.parse(json));
  },
  *snapshot(state) {
    const json = JSON.stringify(state);
    yield `snapshot ${sum(json)} ${json}`;
  },
};
