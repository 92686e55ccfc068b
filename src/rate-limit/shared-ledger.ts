// The ledger of several machines, in a log on the state server (docs/fleet.md).
import type { StateServer } from '../append-log/state-server.ts';
import { StreamLog } from '../append-log/stream-log.ts';
import { StateServerError } from '../append-log/valkey-connection.ts';
import type { Ledger, OpenLedgerOptions } from './ledger.ts';
import { openLedger } from './ledger.ts';
import { ledgerFormat } from './ledger-format.ts';
import { ledgerName } from './paths.ts';
import type { KeyState } from './policy.ts';
import { LEDGER_VERSION } from './rules.ts';

const ROTATE_AT = 200;
const UNUSED_MS = 48 * 3_600_000;
// The maximum age of the state: older state may lack a 429 that another machine received.
const FRESH_MS = 1500;

/** The caller closes `server` after the ledger. */
export function openSharedLedger(server: StateServer, options: Omit<OpenLedgerOptions, 'server'>): Ledger {
  const { identity, key, clock, onWarning } = options;
  const log: StreamLog<KeyState> = new StreamLog(ledgerFormat, {
    ...{ server, clock, ttlMs: UNUSED_MS, rotateAt: ROTATE_AT, freshMs: FRESH_MS },
    key: `petstore:{${ledgerName(identity, key)}}:ledger-${LEDGER_VERSION}`,
    onReset: ({ block }) => block && ledger.addBlock(block.until - log.ahead, block.reason),
    ...(onWarning && { onWarning }),
  });
  const reasonOf = (error: unknown): string => {
    if (!(error instanceof StateServerError)) throw error;
    if (error.problem === 'rejected') throw server.toPetstoreError(error);
    return error.message;
  };
  const ledger = openLedger({ ...options, server: { log, name: server.name, reasonOf } });
  return ledger;
}
