// Runs the program that this test run built.
import type { ChildProcess } from 'node:child_process';
import { inject } from 'vitest';
import type { Outcome, Place } from './processes.ts';
import { runProgram, startProgram } from './processes.ts';

export const BIN = inject('bin');

export function start(at: Place, args: readonly string[]): ChildProcess {
  return startProgram(BIN, at, args);
}

export function petstore(at: Place, args: readonly string[], stdin: string | Uint8Array = ''): Promise<Outcome> {
  return runProgram(BIN, at, args, stdin);
}
