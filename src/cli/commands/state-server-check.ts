// The check of the state server for `petstore doctor`.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { LogFormat } from '../../shared-log/log.ts';
import type { StateServer } from '../../shared-log/state-server.ts';
import { StreamLog } from '../../shared-log/stream-log.ts';

/**
 * Runs every command that petstore needs on a server.
 * @returns the policy by which it may delete keys; undefined if it deletes none
 * @throws PetstoreError `usage` or `storage` if a command fails
 */
export async function checkServer(server: StateServer, clock: Clock): Promise<string | undefined> {
  const format: LogFormat<undefined> = { initial: () => undefined, apply: () => undefined, snapshot: () => [] };
  const key = `petstore:{doctor}:${randomUUID()}`;
  const log = new StreamLog(format, { server, clock, key, ttlMs: 1000, freshMs: 0, rotateAt: 1 });
  try {
    const policy = await server.evictionPolicy();
    // The first record creates the log and rotates it; the second reads it.
    for (const record of ['1', '2']) await log.append(record);
    return policy;
  } catch (error) {
    throw server.toPetstoreError(error, 'start the state server, or correct PETSTORE_STATE_URL');
  }
}
