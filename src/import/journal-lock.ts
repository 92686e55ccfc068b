// The run that holds a journal: whether it lives, and how another one is turned away.
import type { Clock } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import type { ProcessProbe } from './journal-paths.ts';
import type { LockHolder } from './journal-state.ts';

/** A run that cannot be asked whether it lives counts as dead when it said nothing for this long, in milliseconds. */
export const SILENCE_MS = 60_000;

/**
 * @param holder who took a journal
 * @param life how processes are asked
 * @param clock the wall clock
 * @returns whether that run is still at it
 */
export function isRunning(holder: LockHolder, life: ProcessProbe, clock: Clock): boolean {
  const answer = life.ask(holder);
  return answer === 'unknown' ? Math.abs(clock.now() - holder.beat) < SILENCE_MS : answer === 'alive';
}

/**
 * @param holder the run that is at it
 * @param what it imports, in words
 * @returns the error for everybody else
 */
export function alreadyRunning(holder: LockHolder, what = 'these rows'): PetstoreError {
  return new PetstoreError('usage', `another run is importing ${what} already (process ${holder.pid})`, {
    hint: 'let it finish; to stop it use Ctrl-C there, then run this command again to go on',
  });
}
