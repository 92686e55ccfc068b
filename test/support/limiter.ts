// The rate limiter of tests and benchmarks: fixed, anchored and sliding windows, and a token bucket. Time is an argument.

/** The algorithm of a limit, and the headers that report it. */
export interface LimiterOptions {
  readonly mode: 'fixed' | 'anchored' | 'sliding' | 'bucket';
  readonly limit: number;
  readonly windowMs: number;
  /** The capacity of a bucket; `limit` unless given. */
  readonly burst?: number;
  /** Whether responses have X-RateLimit headers (default). */
  readonly describes?: 'limit' | 'nothing';
  /** A second limit, which applies until `endsAt`. */
  readonly daily?: { readonly limit: number; readonly endsAt: number };
  /** The limit that the headers report: the one with the nearest reset (default), fewest left, or smallest share left. */
  readonly reports?: 'nearest' | 'tightest' | 'share';
  readonly reset?: 'ceil' | 'floor' | 'tenths' | 'ms';
  readonly retryAfter?: 'none';
  /** Offset of the boundaries of fixed windows, in milliseconds. */
  readonly phase?: number;
}

/** The result of one request. */
export interface Verdict {
  readonly allowed: boolean;
  /** Milliseconds since the 429 that began the current wait; undefined outside of a wait. */
  readonly insideWait: number | undefined;
  readonly headers: Record<string, string>;
}

interface Status {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: number;
}

/** The limiter of one key. Times are epoch milliseconds of the service's clock. */
export class Limiter {
  readonly #options: LimiterOptions;
  #log: number[] = [];
  #windowEnd = 0;
  #used = 0;
  #tokens: number;
  #refilledAt = 0;
  #dayUsed = 0;
  #waitUntil = 0;
  #waitStatedAt = 0;

  constructor(options: LimiterOptions) {
    this.#options = options;
    this.#tokens = options.burst ?? options.limit;
  }

  /** Decides on a request that arrives at `now`, and counts it if it is allowed. */
  take(now: number): Verdict {
    const insideWait = now < this.#waitUntil ? now - this.#waitStatedAt : undefined;
    this.#advance(now);
    const { daily } = this.#options;
    const dayFull = daily !== undefined && now < daily.endsAt && this.#dayUsed >= daily.limit;
    const allowed = !dayFull && this.#room() >= 1;
    if (allowed) this.#count(now);
    const status = this.#status(now);
    const headers = this.#headers(status, now);
    if (!allowed) {
      const until = dayFull ? daily.endsAt : this.#freeAt(now);
      const stated = this.#stateWait(headers, until, now);
      if (now >= this.#waitUntil) this.#waitStatedAt = now;
      this.#waitUntil = Math.max(this.#waitUntil, stated);
    }
    return { allowed, insideWait, headers };
  }

  #advance(now: number): void {
    const { mode, limit, windowMs, burst = limit, phase = 0 } = this.#options;
    if (mode === 'fixed' && now >= this.#windowEnd) {
      this.#windowEnd = Math.floor((now - phase) / windowMs + 1) * windowMs + phase;
      this.#used = 0;
    }
    if (mode === 'anchored' && now >= this.#windowEnd) this.#used = 0;
    if (mode === 'sliding') this.#log = this.#log.filter((at) => at > now - windowMs);
    if (mode === 'bucket') {
      this.#tokens = Math.min(burst, this.#tokens + ((now - this.#refilledAt) * limit) / windowMs);
      this.#refilledAt = now;
    }
  }

  #room(): number {
    const { mode, limit } = this.#options;
    if (mode === 'sliding') return limit - this.#log.length;
    return mode === 'bucket' ? this.#tokens : limit - this.#used;
  }

  #count(now: number): void {
    this.#dayUsed++;
    if (this.#options.mode === 'anchored' && this.#used === 0) this.#windowEnd = now + this.#options.windowMs;
    this.#used++;
    this.#tokens--;
    this.#log.push(now);
  }

  // The time at which the next request would be allowed.
  #freeAt(now: number): number {
    const { mode, limit, windowMs } = this.#options;
    if (mode === 'sliding') return (this.#log[0] ?? now) + windowMs;
    if (mode === 'bucket') return now + ((1 - this.#tokens) * windowMs) / limit;
    return this.#windowEnd;
  }

  #status(now: number): Status {
    const { mode, limit, windowMs, daily, reports = 'nearest' } = this.#options;
    const missing = (this.#options.burst ?? limit) - this.#tokens;
    const full = mode === 'bucket' ? now + (missing * windowMs) / limit : this.#freeAt(now);
    const remaining = Math.max(0, Math.floor(this.#room()));
    const short = { limit, remaining, resetAt: mode === 'anchored' && this.#used === 0 ? now + windowMs : full };
    if (!daily || now >= daily.endsAt) return short;
    const day = { limit: daily.limit, remaining: Math.max(0, daily.limit - this.#dayUsed), resetAt: daily.endsAt };
    const dayFirst = {
      nearest: day.resetAt < short.resetAt,
      tightest: day.remaining < short.remaining,
      share: day.remaining / day.limit < short.remaining / short.limit,
    };
    return dayFirst[reports] ? day : short;
  }

  #headers({ limit, remaining, resetAt }: Status, now: number): Record<string, string> {
    const reset = {
      ceil: Math.ceil(resetAt / 1000),
      floor: Math.floor(resetAt / 1000),
      tenths: (Math.ceil(resetAt / 100) / 10).toFixed(1),
      ms: (Math.ceil(resetAt) / 1000).toFixed(3),
    }[this.#options.reset ?? 'ceil'];
    const described = this.#options.describes === 'nothing' ? {} : { limit, remaining, reset };
    const headers = Object.entries(described).map(([name, value]) => [`x-ratelimit-${name}`, String(value)]);
    return { date: new Date(now).toUTCString(), ...Object.fromEntries(headers) };
  }

  // Adds Retry-After, unless the options omit it, and returns the end of the wait that the headers state.
  #stateWait(headers: Record<string, string>, until: number, now: number): number {
    const { describes, retryAfter } = this.#options;
    if (retryAfter === 'none') return describes ? now : until;
    headers['retry-after'] = String(Math.ceil(Math.max(0, until - now) / 1000));
    return until;
  }
}
