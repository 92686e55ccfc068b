// The settings of a sandbox, from the options of `petstore sandbox` or of `startSandbox`.
import { randomInt } from 'node:crypto';
import { PetstoreError } from '../errors.ts';
import { checkPath, checkWholeNumber, invalidValueError } from '../settings/check-options.ts';
import { formatChoices } from '../text/format.ts';
import { parseFault } from './faults.ts';
import { PLANS, parseLimit } from './limiter.ts';
import type { RetryAfterFormat } from './response.ts';
import { RETRY_AFTER_FORMATS } from './response.ts';

/** Not a secret: the sandbox listens on loopback only and rejects web pages. */
const SANDBOX_KEY = 'sandbox_0123456789abcdef';

export const SANDBOX_OPTIONS = ['port', 'keys', 'limits', 'plan', 'faults', 'seed', 'retryAfter', 'data'] as const;

/** Unchecked options; absent ones and empty lists have defaults. */
export type GivenSettings = Readonly<Partial<Record<(typeof SANDBOX_OPTIONS)[number], unknown>>>;

/** How the caller spells an option, for messages: `--limit` or `limits`. */
export type NameOption = (option: string) => string;

export type SandboxSettings = ReturnType<typeof readSettings>;

/** @throws PetstoreError `usage` naming the option */
export function readSettings(given: GivenSettings, nameOf: NameOption) {
  // A random seed is shown too, so that a run can be repeated.
  const { port = 0, seed = randomInt(2 ** 32) } = given;
  return {
    port: checkWholeNumber(port, nameOf('port'), 0, 65_535),
    ...readLimits(given, nameOf),
    retryAfter: readRetryAfter(given.retryAfter, nameOf('retryAfter')),
    ...readKeys(texts(given.keys, nameOf('keys')), nameOf('keys')),
    dataFile: checkPath(given.data, nameOf('data')),
    faults: texts(given.faults, nameOf('faults')).map((text) => parseFault(text, nameOf('faults'))),
    seed: checkWholeNumber(seed, nameOf('seed'), 0, 2 ** 32 - 1),
  };
}

// All limits apply; the enterprise plan has none.
function readLimits({ limits: given, plan }: GivenSettings, nameOf: NameOption) {
  const custom = texts(given, nameOf('limits'));
  const isCustom = custom.length > 0;
  if (isCustom && plan !== undefined) {
    const message = `${nameOf('plan')} and ${nameOf('limits')} cannot be combined`;
    throw new PetstoreError('usage', message, { hint: 'use one of them' });
  }
  const name = plan === undefined ? 'free' : String(plan);
  const rates = isCustom ? custom : PLANS.get(name);
  if (!rates) throw invalidValueError(plan, nameOf('plan'), `use ${formatChoices([...PLANS.keys()])}`);
  return {
    plan: isCustom ? 'custom' : name,
    rates,
    limits: rates.map((text) => parseLimit(text, nameOf('limits'))),
  };
}

function readRetryAfter(value: unknown = 'seconds', name: string): RetryAfterFormat {
  const format = RETRY_AFTER_FORMATS.find((one) => one === value);
  if (format) return format;
  throw invalidValueError(value, name, `use ${formatChoices(RETRY_AFTER_FORMATS)}`);
}

// The message does not repeat the text, which may be a real key.
function readKeys(keys: readonly string[], name: string) {
  if (!keys.every((key) => /^[\x21-\x7e]+$/.test(key))) {
    const problem = keys.includes('') ? 'is empty' : 'must be printable ASCII without spaces';
    throw new PetstoreError('usage', `${name} ${problem}`, { hint: 'use a key such as sandbox_alice_0001' });
  }
  const [key = SANDBOX_KEY, ...others] = new Set(keys);
  return { key, keys: [key, ...others] };
}

function texts(value: unknown, name: string): readonly string[] {
  if (value === undefined) return [];
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw new PetstoreError('usage', `${name} must be an array of strings`);
}
