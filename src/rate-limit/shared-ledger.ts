// The ledger of several machines, in a log on the state server (docs/fleet.md).
import { RETENTION_MS } from '../settings/mkdirp.ts';
import type { StateServer } from '../shared-log/state-server.ts';
import { StreamLog } from '../shared-log/stream-log.ts';
import type { LedgerOptions } from './ledger.ts';
import { Ledger } from './ledger.ts';
import { ledgerFormat } from './ledger-format.ts';
import { ledgerName } from './machine-log.ts';
import { LEDGER_VERSION } from './rules.ts';

const ROTATE_AT = 200;
// The maximum age of the state: older state may lack a 429 that another machine received.
const FRESH_MS = 1500;

/** The caller closes `server` after the ledger. */
export function openSharedLedger(server: StateServer, options: Omit<LedgerOptions, 'openServerLog'>): Ledger {
  const key = `petstore:{${ledgerName(options)}}:ledger-${LEDGER_VERSION}`;
  const place = { server, key, clock: options.clock, ttlMs: RETENTION_MS, rotateAt: ROTATE_AT, freshMs: FRESH_MS };
  return new Ledger({ ...options, openServerLog: (onReset) => new StreamLog(ledgerFormat, { ...place, onReset }) });
}
