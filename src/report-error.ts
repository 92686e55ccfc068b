// Anything thrown, told on stderr as text or as one line of JSON; gives the exit code.

import { PetstoreError } from './errors.ts';
import { escapeControls, terminalSafeJson } from './escape.ts';
import { colorLevel } from './io.ts';
import { wrap } from './output/wrap.ts';
import type { Context } from './session.ts';

/** How an error is to be told. */
export interface ReportOptions {
  readonly json: boolean;
  readonly verbose: boolean;
  readonly noColor: boolean;
}

/**
 * Tells an error.
 * @param error whatever was thrown
 * @param context the world; stderr is written to
 * @param telling as text or JSON, with or without the stack
 * @returns the exit code of the error's kind (contract, section 3)
 */
export async function reportError(error: unknown, context: Context, telling: ReportOptions): Promise<number> {
  const known = error instanceof PetstoreError ? error : unexpected(error);
  await context.stderr.write(
    telling.json
      ? asJson(known)
      : asText(known, colorLevel(context.stderr, context.env, telling.noColor) > 0, context.stderr.columns),
  );
  if (telling.verbose) await context.stderr.write(details(known));
  return known.exitCode;
}

// Foreign messages may quote data: only what sort of error it was is told, the rest with --verbose.
function unexpected(error: unknown): PetstoreError {
  const storage = storageError(error);
  if (storage) return storage;
  const name = error instanceof Error ? error.name : typeof error;
  const hint = 'this is a fault of petstore itself: run it again with --verbose and report what it prints';
  return new PetstoreError('internal', `unexpected ${name} inside petstore`, { hint, cause: error });
}

function storageError(error: unknown): PetstoreError | undefined {
  const { code, syscall, path } = (error ?? {}) as NodeJS.ErrnoException;
  if (typeof code !== 'string' || typeof syscall !== 'string' || !/^E[A-Z]+$/.test(code)) return undefined;
  if (
    !/^(?:open|read|write|mkdir|unlink|rename|link|fsync|fdatasync|scandir|stat|lstat|fstat|chmod|close|ftruncate)$/.test(
      syscall,
    )
  )
    return undefined;
  const message = `a file could not be used (${syscall}: ${code})${path ? `: ${escapeControls(path)}` : ''}`;
  return new PetstoreError('storage', message, { hint: 'check the rights and the space of that folder', cause: error });
}

function asJson(error: PetstoreError): string {
  const { kind, message, hint, code, status, retryAt } = error;
  const at = retryAt === undefined ? undefined : new Date(retryAt).toISOString();
  return `${terminalSafeJson(JSON.stringify({ error: { kind, message, hint, code, status, retryAt: at } }))}\n`;
}

function asText(error: PetstoreError, color: boolean, columns: number | undefined): string {
  const code = error.code === undefined || error.message.includes(error.code) ? '' : ` [${escapeControls(error.code)}]`;
  const hint = error.hint === undefined ? '' : `\n${escapeControls(error.hint, '\n')}`;
  const lines = `error: ${escapeControls(error.message, '\n')}${code}${hint}`.split('\n');
  // On a terminal lines break between words; a pipe gets each as it is.
  const text = `${lines.map((line) => (columns ? wrap(line, columns) : line)).join('\n')}\n`;
  return color ? text.replace('error:', '\u001b[31merror:\u001b[39m') : text;
}

function details(error: PetstoreError): string {
  const lines = [error.stack ?? ''];
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause)
    lines.push(`caused by ${cause.stack ?? cause.message}`);
  return `${escapeControls(lines.join('\n'), '\n')}\n`;
}
