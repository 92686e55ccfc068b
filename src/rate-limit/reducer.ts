// The policy as the format of a log.
import { createHash } from 'node:crypto';
import type { LogFormat } from '../append-log/log.ts';
import { DamagedRecordError } from '../append-log/log.ts';
import { parseRecord } from './ledger-record.ts';
import type { Admission, KeyState } from './policy.ts';
import { initialState, reduce } from './policy.ts';

const sum = (json: string): string => createHash('sha256').update(json).digest('hex').slice(0, 16);

export const ledgerFormat: LogFormat<KeyState, Admission | undefined> = {
  initial: initialState,
  apply(state, text) {
    const record = parseRecord(text);
    if (record) return reduce(state, record);
    // A snapshot counts at the head of a generation only, and a damaged one not at all.
    const [, digest, json = ''] = /^snapshot (\w+) (.*)$/.exec(text) ?? [];
    if (state.seq > 0 || digest !== sum(json)) throw new DamagedRecordError('not a record of the ledger');
    Object.assign(state, JSON.parse(json));
    return undefined;
  },
  *snapshot(state) {
    const json = JSON.stringify(state);
    yield `snapshot ${sum(json)} ${json}`;
  },
};
