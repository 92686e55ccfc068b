// Types for the tests.
import type { describeCommands } from '../src/commands/help.ts';

export type Reference = ReturnType<typeof describeCommands>;

export function manPage(reference: Reference): string;
export function cliReference(reference: Reference): string;
export function exitCodeTable(reference: Reference): string;
export function replaceGenerated(document: string, name: string, text: string): string;
