// The settings of a sandbox, from the options of `petstore sandbox` or of `startSandbox`.
import { checkPath, invalidValue } from '../check-options.ts';
import { PetstoreError } from '../errors.ts';
import { parseFault } from './faults.ts';
import type { PlanName } from './limiter.ts';
import { PLANS, parseLimit } from './limiter.ts';
import { SANDBOX_KEY } from './server.ts';

type OptionName = 'port' | 'plan' | 'limits' | 'keys' | 'data' | 'faults' | 'seed';
/** Absent options and empty lists have defaults. */
export type GivenSettings = Readonly<Partial<Record<OptionName, unknown>>>;
/** How the caller spells an option, for messages: `--limit` or `limits`. */
export type OptionNames = Readonly<Record<OptionName, string>>;

/** @throws PetstoreError `usage` naming the option */
export function readSettings(given: GivenSettings, names: OptionNames) {
  return {
    port: wholeNumber(given.port ?? 0, names.port, 65_535),
    portName: names.port,
    ...readLimits(given, names),
    keys: readKeys(texts(given.keys, names.keys), names.keys),
    dataFile: checkPath(given.data, names.data),
    faults: texts(given.faults, names.faults).map((text) => parseFault(text, names.faults)),
    seed: given.seed === undefined ? undefined : wholeNumber(given.seed, names.seed, 2 ** 32 - 1),
  };
}

function readLimits({ limits, plan = 'free' }: GivenSettings, names: OptionNames) {
  const custom = texts(limits, names.limits).map((text) => parseLimit(text, names.limits));
  if (custom.length > 0) return { plan: 'custom' as const, limits: custom };
  const name = Object.keys(PLANS).find((one): one is PlanName => one === plan);
  if (name) return { plan: name, limits: PLANS[name] };
  throw invalidValue(plan, names.plan, `use ${Object.keys(PLANS).join(', ')}`);
}

// The message does not repeat the text, which may be a real key.
function readKeys(keys: readonly string[], name: string): readonly [string, ...string[]] {
  if (!keys.every((key) => /^[\x21-\x7e]+$/.test(key))) {
    const hint = 'use a key such as sandbox_alice_0001';
    throw new PetstoreError('usage', `${name} must be printable ASCII without spaces`, { hint });
  }
  const [first = SANDBOX_KEY, ...others] = new Set(keys);
  return [first, ...others];
}

function texts(value: unknown, name: string): readonly string[] {
  if (value === undefined) return [];
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw new PetstoreError('usage', `${name} must be an array of strings`);
}

function wholeNumber(value: unknown, name: string, max: number): number {
  if (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max) return Number(value);
  throw invalidValue(value, name, `use a whole number from 0 to ${max}`);
}
