// The numbers of the rate-limit policy. All processes must agree on them: a change needs a new LEDGER_VERSION.

/** Part of the ledger's file name. Processes of another version keep another ledger. */
export const LEDGER_VERSION = 5;

/** Durations in milliseconds; docs/rate-limits.md says why. */
export const RULES = {
  /** The floor of the first 429; each further one in a row doubles it. */
  floorMs: 1000,
  floorCapMs: 60_000,
  /** A 429 this long after a block ended begins a new row, and nothing is remembered of the last. */
  rowEndsAfterMs: 60_000,
  /** No header blocks a key for longer. */
  blockCapMs: 25 * 3_600_000,
  /** Jitter lengthens a wait by at most this share. */
  jitterShare: 0.05,
  jitterCapMs: 1000,
  /** Added to a reset that is finer than this; a coarser one may have been rounded down by its resolution. */
  leastGuardMs: 50,
  /** Responses whose resets differ by less describe the same window: whole seconds are rounded either way. */
  sameWindowMs: 1500,
  sameLocalWindowMs: 3000,
  /** A reset farther away belongs to the long window. */
  longWindowMs: 600_000,
  /** A run of many requests keeps the last one of a brief window to look for the next; a single request that of an instant one. */
  briefWindowMs: 6500,
  instantWindowMs: 2500,
  briefWindowLimit: 4,
  /** The largest share of a limit that is reserved for others who use the key. */
  foreignShare: 0.2,
  /** Clocks drift: what is known of the service's clock expires. */
  offsetLifeMs: 600_000,
  clockStepMs: 60_000,
  /** No window ends later. */
  farthestResetMs: 33 * 86_400_000,
  longestLeaseMs: 25 * 3_600_000,
  unconfirmedKept: 2000,
  /** An estimate of the rate expires when nothing was sent for this time. */
  paceLifeMs: 600_000,
  /** Where no header announces a limit, so many more requests may be in flight after a round of successes. */
  concurrencyGrowth: 1 / 3,
  /** Each success raises an estimated rate by this factor: far from the limit, and near it. */
  rampFactor: 1.25,
  probeFactor: 1.005,
  /** A refusal after so many successes measures the rate; an earlier one only shows that it was too high, and lowers it by a factor. */
  fewSuccesses: 2,
  enoughSuccesses: 8,
  earlyFactor: 0.65,
  steadyFactor: 0.75,
} as const;
