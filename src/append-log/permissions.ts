// Tells whether a state server permits every command that logs use.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { LogFormat } from './log.ts';
import type { StateServer } from './state-server.ts';
import { StreamLog } from './stream-log.ts';

/** @throws PetstoreError `usage` or `storage` */
export async function checkPermissions(server: StateServer, clock: Clock): Promise<void> {
  const format: LogFormat<undefined> = { initial: () => undefined, apply: () => undefined, snapshot: () => [] };
  const key = `petstore:{doctor}:${randomUUID()}`;
  const log = new StreamLog(format, { server, clock, key, ttlMs: 1000, freshMs: 0, rotateAt: 1 });
  try {
    // The first record creates the log and rotates it; the second reads it.
    for (const record of ['1', '2']) await log.append(record);
  } catch (error) {
    throw server.toPetstoreError(error);
  }
}
