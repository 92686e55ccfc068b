// The options of `petstore sandbox`, from what was typed to what the server is started with.
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { SANDBOX_KEY } from '../../sandbox/embedded.ts';
import type { FaultRule } from '../../sandbox/faults.ts';
import { faultNames, parseFault } from '../../sandbox/faults.ts';
import type { Limit, PlanName } from '../../sandbox/plans.ts';
import { PLANS, parseLimit } from '../../sandbox/plans.ts';
import type { RetryAfterForm } from '../../sandbox/response.ts';
import type { Markers, OperationName } from '../../sandbox/routes.ts';
import { OPERATION_NAMES } from '../../sandbox/routes.ts';
import { LARGEST_ID } from '../../sandbox/store.ts';
import type { SandboxInput } from '../sandbox.ts';

/** What the server is started with, and what is said of it. */
export interface Settings {
  readonly port: number;
  readonly plan: PlanName;
  readonly limits: readonly Limit[];
  readonly keys: readonly [string, ...string[]];
  readonly dataFile: string;
  readonly reset: boolean;
  readonly retryAfter: RetryAfterForm;
  readonly faults: readonly FaultRule[];
  readonly markers: Markers;
  readonly seed: number;
  readonly firstId?: bigint;
}

/**
 * Checks the options.
 * @param input as typed
 * @param place the working directory; the data file where none is named; chance, for a seed where none is given
 * @returns checked settings
 * @throws PetstoreError `usage` naming the option that is wrong
 */
export function readSettings(
  input: SandboxInput,
  place: { readonly cwd: string; readonly dataFile: () => string; readonly random: () => number },
): Settings {
  const { plan, limits } = limitsOf(input);
  return {
    port: wholeNumber('--port', input.port, 65_535),
    plan,
    limits,
    keys: keysOf(input.keys),
    dataFile: input.data === undefined ? place.dataFile() : dataFileOf(resolve(place.cwd, input.data)),
    reset: input.reset,
    retryAfter: input.retryAfter as RetryAfterForm,
    faults: input.faults.map((text) => {
      const rule = parseFault(text);
      if (!rule) throw wrong('--fault', text, `write it as KIND[:PERCENT]; kinds are ${faultNames()}`);
      return rule;
    }),
    markers: new Map([...markersOf('beta', input.beta), ...markersOf('experimental', input.experimental)]),
    // Drawn here, so that it can be told: what went wrong by chance can be had again.
    seed:
      input.seed === undefined ? Math.floor(place.random() * 2 ** 32) : wholeNumber('--seed', input.seed, 2 ** 32 - 1),
    ...(input.firstId === undefined ? {} : { firstId: idOf(input.firstId) }),
  };
}

// The logs would otherwise be made beside the folder that was meant to hold them.
function dataFileOf(path: string): string {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  throw new PetstoreError('usage', `--data names a folder: ${escapeControls(path)}`, {
    hint: `name a file in it: --data ${escapeControls(join(path, 'pets'))}`,
  });
}

function limitsOf(input: SandboxInput): { plan: PlanName; limits: readonly Limit[] } {
  const limits = input.limits.map((text) => {
    const limit = parseLimit(text);
    if (!limit) throw wrong('--limit', text, 'write it as requests per duration: 60/1m, 1000/1d, 60/6s');
    return limit;
  });
  const named = input.plan as PlanName | undefined;
  if (limits.length === 0) return { plan: named ?? 'free', limits: PLANS[named ?? 'free'] };
  if (named !== undefined && named !== 'enterprise') {
    const hint = 'leave one of them out; only the plan enterprise has limits of its own';
    throw new PetstoreError('usage', `--plan ${named} and --limit contradict each other`, { hint });
  }
  return { plan: 'enterprise', limits };
}

// The contract (section 4) on keys; what was typed is not repeated, it may be a real key.
function keysOf(keys: readonly string[]): readonly [string, ...string[]] {
  if (keys.some((key) => !/^[\x21-\x7e]+$/.test(key))) {
    const hint = 'make one up, for example --key sandbox_alice_0001';
    throw new PetstoreError('usage', '--key takes printable ASCII without spaces', { hint });
  }
  const [first = SANDBOX_KEY, ...others] = new Set(keys);
  return [first, ...others];
}

function markersOf(
  marker: 'beta' | 'experimental',
  names: readonly string[],
): [OperationName, 'beta' | 'experimental'][] {
  return names.map((name) => {
    const known = OPERATION_NAMES.find((each) => each.toLowerCase() === name.trim().toLowerCase());
    if (!known) throw wrong(`--${marker}`, name, `operations are ${OPERATION_NAMES.join(', ')}`);
    return [known, marker];
  });
}

function wholeNumber(option: string, text: string, largest: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= largest)) throw wrong(option, text, `it takes a whole number from 0 to ${largest}`);
  return value;
}

function idOf(text: string): bigint {
  const value = /^\d{1,19}$/.test(text) ? BigInt(text) : 0n;
  if (value < 1n || value > LARGEST_ID) {
    throw wrong('--first-id', text, `it takes a whole number from 1 to ${LARGEST_ID}`);
  }
  return value;
}

function wrong(option: string, text: string, hint: string): PetstoreError {
  // Half of a long key would no longer be known as one.
  const shown = text.length > 60 ? 'that' : escapeControls(JSON.stringify(text));
  return new PetstoreError('usage', `${option} cannot be ${shown}`, { hint });
}
