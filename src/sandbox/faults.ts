// Faults on demand: which ones there are, how they are written, and which of them meet one request.
import { formatDuration, parseDuration } from '../duration.ts';

/** What a fault does; the order is that of the help text. */
export const FAULT_KINDS = {
  latency: 'answers late: by a second, or latency=300ms',
  '429': 'refuses although the limit is not reached, Retry-After 1 s, or 429=5s',
  '500': 'fails before anything is done',
  '503': 'fails before anything is done',
  '500-after-commit': 'fails after a create is committed',
  reset: 'resets the connection before anything is done',
  'reset-after-commit': 'resets the connection after a create is committed',
  'lost-reply': 'closes the connection without an answer after a create is committed',
  hang: 'never answers, after a create is committed',
  truncate: 'closes the connection in the middle of the body',
  garbage: 'answers with a body that is not JSON',
  'wrong-length': 'declares a shorter body than it sends',
  'slow-headers': 'sends the head a few bytes at a time, for a second, or slow-headers=5s',
  'skewed-date': 'tells the time of a clock that is an hour ahead, or skewed-date=-10m',
} as const;

/** The name of a fault. */
export type FaultKind = keyof typeof FAULT_KINDS;

/** A fault, and how often it consecutive429s. */
export interface FaultRule {
  readonly kind: FaultKind;
  /** Of 100 requests; reads included. */
  readonly percent: number;
  /** What the kind needs to know, milliseconds. */
  readonly ms: number;
}

const DEFAULT_MS: Partial<Record<FaultKind, number>> = {
  latency: 1000,
  '429': 1000,
  'slow-headers': 1000,
  'skewed-date': 3_600_000,
};
// `reset-before` is what the fault catalogue calls it.
const ALIASES: ReadonlyMap<string, FaultKind> = new Map([['reset-before', 'reset']]);

/**
 * Reads a fault as `--fault` and the header `x-sandbox-fault` take it: `KIND[=DURATION][:PERCENT]`.
 * @param text for example `503:20`, `latency=300ms`, `lost-reply`
 * @returns the rule; undefined where the text is none
 */
export function parseFault(text: string): FaultRule | undefined {
  const match = /^([a-z0-9-]+?)(?:=(-?)([0-9.]+[a-z]*))?(?::(\d{1,3}(?:\.\d+)?))?$/.exec(text.trim());
  const name = match?.[1] ?? '';
  const kind = ALIASES.get(name) ?? (Object.hasOwn(FAULT_KINDS, name) ? (name as FaultKind) : undefined);
  const percent = match?.[4] === undefined ? 100 : Number(match[4]);
  if (!kind || percent > 100) return undefined;
  const usual = DEFAULT_MS[kind];
  if (match?.[3] === undefined) return { kind, percent, ms: usual ?? 0 };
  const ms = parseDuration(match[3]);
  if (ms === undefined || usual === undefined || (match[2] === '-' && kind !== 'skewed-date')) return undefined;
  return { kind, percent, ms: match[2] === '-' ? -ms : ms };
}

/** @returns the kinds of faults, for messages */
export function faultNames(): string {
  return Object.keys(FAULT_KINDS).sort().join(', ');
}

/**
 * @param rule a fault
 * @returns for example `latency=1s:50`, to be shown
 */
export function describeFault(rule: FaultRule): string {
  const sign = rule.ms < 0 ? '-' : '';
  const size = Math.abs(rule.ms);
  const text = size % 1000 === 0 ? formatDuration(size) : `${size}ms`;
  return `${rule.kind}${rule.ms === 0 ? '' : `=${sign}${text}`}${rule.percent === 100 ? '' : `:${rule.percent}`}`;
}

/** What happens to one request: how it is delayed, what clock it is told, and how it fails, if it does. */
export interface FaultPlan {
  readonly latencyMs: number;
  readonly skewMs: number;
  readonly fault: FaultRule | undefined;
}

/** Nothing goes wrong. */
export const NO_FAULT: FaultPlan = { latencyMs: 0, skewMs: 0, fault: undefined };

/**
 * Draws what happens to one request. Every rule draws, whatever the others came to, so that a seed means one sequence.
 * @param rules the faults of the server and of the request
 * @param random a number in [0, 1)
 * @returns its fate: delays add up, the first other fault that consecutive429s decides
 */
export function drawFaultPlan(rules: readonly FaultRule[], random: () => number): FaultPlan {
  const struck = rules.filter((rule) => random() * 100 < rule.percent);
  const sum = (kind: FaultKind): number =>
    struck.filter((rule) => rule.kind === kind).reduce((all, { ms }) => all + ms, 0);
  const fault = struck.find(({ kind }) => kind !== 'latency' && kind !== 'skewed-date');
  return { latencyMs: sum('latency'), skewMs: sum('skewed-date'), fault };
}

/**
 * A small generator of numbers that a seed repeats (mulberry32): good for tests, not for secrets.
 * @param seed a whole number
 * @returns numbers in [0, 1)
 */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
