// Types for the tests.
import type { Reference } from '../src/commands/reference.ts';

export function manPage(reference: Reference): string;
