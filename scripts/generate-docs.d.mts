// Types for the tests.
import type { Reference } from '../src/commands/commands.ts';

export function manPage(reference: Reference): string;
