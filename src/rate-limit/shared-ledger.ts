// The ledger of several machines: on the state server (docs/fleet.md), otherwise on this machine.
import { RETENTION_MS } from '../settings/paths.ts';
import type { StateServer } from '../shared-log/state-server.ts';
import { StreamLog } from '../shared-log/stream-log.ts';
import type { LedgerPlace } from './ledger.ts';
import { Ledger } from './ledger.ts';
import type { MachineOptions } from './machine-ledger.ts';
import { ledgerName, machinePlaces } from './machine-ledger.ts';
import { ledgerFormat } from './policy.ts';
import { LEDGER_VERSION } from './rules.ts';

const ROTATE_AT = 200;
// The maximum age of the state: older state may lack a 429 that another machine received.
const FRESH_MS = 1500;

/** The caller closes `server` after the ledger. */
export function openSharedLedger(server: StateServer, options: MachineOptions): Ledger {
  return new Ledger({ ...options, places: [serverPlace(server, options), ...machinePlaces(options)] });
}

function serverPlace(server: StateServer, options: MachineOptions): LedgerPlace {
  const { clock, stateDir } = options;
  const key = `petstore:{${ledgerName(options)}}:ledger-${LEDGER_VERSION}`;
  const log = { server, key, clock, ttlMs: RETENTION_MS, rotateAt: ROTATE_AT, freshMs: FRESH_MS };
  const scope = stateDir === null ? 'not shared with other processes' : 'shared only on this machine';
  return {
    mayRecover: true,
    shared: true,
    stateServer: server.name,
    open: (onReset) => new StreamLog(ledgerFormat, { ...log, onReset }),
    warningOf(error) {
      if (!server.isOutage(error)) throw server.toPetstoreError(error);
      return `cannot use state server ${server.name} (${error.message}); the rate limit is ${scope}`;
    },
  };
}
