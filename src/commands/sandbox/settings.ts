// The options of `petstore sandbox`: as typed, and validated.
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { FAULT_KINDS, parseFault } from '../../sandbox/faults.ts';
import type { Limit, PlanName } from '../../sandbox/plans.ts';
import { PLANS, parseLimit, SANDBOX_KEY } from '../../sandbox/plans.ts';
import type { RetryAfterFormat } from '../../sandbox/response.ts';

export interface TypedOptions {
  readonly port: string;
  readonly plan?: string;
  readonly limit: readonly string[];
  readonly key: readonly string[];
  readonly data?: string;
  readonly reset?: true;
  readonly retryAfter: string;
  readonly fault: readonly string[];
  readonly seed?: string;
}

export type SandboxSettings = ReturnType<typeof readSettings>;

/**
 * @param defaults the data file without `--data`; randomness for a seed without `--seed`
 * @throws PetstoreError `usage` naming the option
 */
export function readSettings(
  options: TypedOptions,
  defaults: { readonly cwd: string; readonly dataFile: () => string; readonly random: () => number },
) {
  const { data, seed } = options;
  return {
    port: wholeNumber('--port', options.port, 65_535),
    ...readLimits(options),
    keys: readKeys(options.key),
    dataFile: data === undefined ? defaults.dataFile() : readDataFile(resolve(defaults.cwd, data)),
    reset: options.reset === true,
    retryAfter: options.retryAfter as RetryAfterFormat,
    faults: options.fault.map((text) => {
      const rule = parseFault(text);
      if (!rule) throw invalid('--fault', text, `use KIND[:PERCENT]; kinds are ${FAULT_KINDS.join(', ')}`);
      return rule;
    }),
    // Always known, so that a run with random faults can be repeated.
    seed: seed === undefined ? Math.floor(defaults.random() * 2 ** 32) : wholeNumber('--seed', seed, 2 ** 32 - 1),
  };
}

// The logs would be created beside the folder instead of inside it.
function readDataFile(path: string): string {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  throw new PetstoreError('usage', `--data must be a file, not a folder: ${escapeControls(path)}`, {
    hint: `name a file in it: --data ${escapeControls(join(path, 'pets'))}`,
  });
}

function readLimits(options: TypedOptions): { plan: PlanName; limits: readonly Limit[] } {
  const limits = options.limit.map((text) => {
    const limit = parseLimit(text);
    if (!limit) throw invalid('--limit', text, 'use REQUESTS/DURATION, for example 60/1m, 1000/1d or 60/6s');
    return limit;
  });
  const plan = options.plan as PlanName | undefined;
  if (limits.length === 0) return { plan: plan ?? 'free', limits: PLANS[plan ?? 'free'] };
  if (plan === undefined || plan === 'enterprise') return { plan: 'enterprise', limits };
  throw new PetstoreError('usage', `--plan ${plan} and --limit cannot be combined`, {
    hint: 'use one of them; only the plan enterprise has custom limits',
  });
}

// The text is not repeated: it may be a real key.
function readKeys(keys: readonly string[]): readonly [string, ...string[]] {
  if (keys.some((key) => !/^[\x21-\x7e]+$/.test(key))) {
    const hint = 'make one up, for example --key sandbox_alice_0001';
    throw new PetstoreError('usage', '--key must be printable ASCII without spaces', { hint });
  }
  const [first = SANDBOX_KEY, ...others] = new Set(keys);
  return [first, ...others];
}

function wholeNumber(option: string, text: string, max: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= max)) throw invalid(option, text, `use a whole number from 0 to ${max}`);
  return value;
}

function invalid(option: string, text: string, hint: string): PetstoreError {
  // A key typed in the wrong place is redacted only where it is shown whole.
  const shown = text.length > 60 ? '' : ` ${escapeControls(JSON.stringify(text))}`;
  return new PetstoreError('usage', `invalid value${shown} for ${option}`, { hint });
}
