// Changes to ledger, import, retry and HTTP client that short worlds should detect: `npm run bench -- simulate --mutations`.
import type { Mutation } from './simulator.ts';

/** For each file, texts that occur in it once, with their replacements. */
const CHANGES: Readonly<Record<string, readonly (readonly [from: string, to: string])[]>> = {
  'import/run.ts': [
    ['const isQueued = isWhole && !maybe &&', 'const isQueued = isWhole &&'],
    ['const isQueued = isWhole && !maybe &&', 'const isQueued = !maybe &&'],
    ['&& (this.#sent.get(row) ?? 0) <= maxRetries;', '&& maxRetries < 0;'],
    ["if (means === 'rejected' || means === 'unsent') return true;", "if (means !== 'slow') return true;"],
    ["if (means === 'rejected') this.results.set(row, { state: 'failed', error: toPetstoreError(error) });", ''],
    ['if (stop) this.end(error);', ''],
    ['slow: Math.max(LOST_MS, timeoutMs)', 'slow: LOST_MS'],
    ['aborted: ABANDONED_MS', 'aborted: LOST_MS'],
    ['      await this.#lookUp();\n', ''],
    ['        this.#doubt(other, LOST_MS);\n', ''],
    [
      'if (isKnown || !isAlike(this.#row(row).name, category.name)) {',
      'if (!isAlike(this.#row(row).name, category.name)) {',
    ],
    [', () => lock.assertHeld())', ')'],
    ['this.#options.rows, open, this.#free(listed));', 'this.#options.rows, open, listed);'],
    ['if (twice.length > 0) throw perhapsTwice(twice);', ''],
    ['    await lock.settle(signal);\n    this.#first', '    this.#first'],
    ['    await lock.settle(signal);\n    const { listed, isWhole }', '    const { listed, isWhole }'],
    ['.filter((one) => !before.has(keyOf(one)));', ';'],
  ],
  'import/list.ts': [
    ['const LAST_RETRY_MS = 4000;', 'const LAST_RETRY_MS = 0;'],
    ['const isWhole = !fromCache && lacking.length === 0;', 'const isWhole = lacking.length === 0;'],
    ['const isWhole = !fromCache && lacking.length === 0;', 'const isWhole = !fromCache;'],
    ['?.pop();\n    if (category)', '?.at(-1);\n    if (category)'],
  ],
  'import/lock.ts': [
    ['await sleepLong(this.#clock, this.busyMs, signal);', ''],
    ['if (holder?.run === this.#run) break;', 'break;'],
    ["if (state === 'dead' ||", "if (state !== 'dead' ||"],
    ["if (state === 'dead' || (state === 'unknown' && now - since >= SILENCE_MS)) {", "if (state !== 'alive') {"],
    [' since = now;', ' since ||= now;'],
    ['busyMs: Math.ceil(this.busyMs) });', 'busyMs: 0 });'],
    ['if (state?.holder?.run === this.#run) return;', 'return;'],
    ['const ABANDONED_MS = 10_000;', 'const ABANDONED_MS = 100;'],
    ['this.mayArrive(this.#log.last().holder?.waitMs ?? 0);', ''],
    ['if (state.at === record.lastAt) state.holder = undefined;', 'state.holder = undefined;'],
  ],
  'rate-limit/policy.ts': [
    ['if (block && t < block.until) return', 'if (block && t < block.since) return'],
    ['if (open.some(({ probe }) => probe)) return PENDING;', ''],
    ['if (left - open.length >= 1)', 'if (left >= 1)'],
    ['if (left - open.length >= 1)', 'if (left - open.length >= 0)'],
    ['(window && t >= windowEnd(window))) {', '(window && t >= windowEnd(window) + 60_000)) {'],
    ['const left = window.remaining - unanswered;', 'const left = window.remaining;'],
    ['const until = seen.at + ms + jitter;', 'const until = seen.at + ms / 2;'],
    ['const until = seen.at + ms + jitter;', 'const until = seen.at + 3 * ms + 30_000;'],
    ['const ms = Math.min(Math.max(stated, floor), RULES.blockCapMs);', 'const ms = floor;'],
    ['!(block && t < block.until);', 'true;'],
    ["else if (record.how === 'unsent') delete", "else if (record.how !== 'dead') delete"],
    ['if (block && !(ticket && ticket.seq > block.extendedBy)) return;', ''],
    ['state.block = undefined;\n  state.verified = true;', 'state.block = undefined;'],
    ['if (block && !(ticket && ticket.seq > block.extendedBy)) return;', 'if (block && !ticket) return;'],
    [
      'const ms = Math.min(Math.max(stated, floor), RULES.blockCapMs);',
      'const ms = Math.min(stated || floor, RULES.blockCapMs);',
    ],
    ['else if (until > block.until) state.block', 'else if (until < block.until) state.block'],
    [
      'Object.assign(state, shiftTimes(state, now - state.time));',
      'Object.assign(state, shiftTimes(state, state.time - now));',
    ],
    ['ticket.seq > block.extendedBy', 'ticket.seq > block.seq'],
    ["else if (record.how === 'unsent') delete", "else if (record.how !== 'lost') delete"],
  ],
  'rate-limit/window.ts': [
    ['return resetAt + guardMs;', 'return resetAt - 1500;'],
    ['return resetAt + guardMs;', 'return resetAt + guardMs + 120_000;'],
    ["clock === 'service' ? reset.at - (offset?.lo ?? 0) : reset.at;", 'reset.at;'],
    ['const guardMs = Math.max(RULES.leastGuardMs, reset.resolution);', 'const guardMs = RULES.leastGuardMs;'],
    ['if (later < -RULES.sameWindowMs) return known;', 'if (later < -RULES.sameWindowMs) return reading;'],
    ['const remaining = Math.min(known.remaining, reading.remaining);', 'const remaining = reading.remaining;'],
    ['    known.seenSeq < ticket.seq &&\n', ''],
  ],
  'rate-limit/ledger.ts': [
    ['return state !== undefined && !refused &&', 'return state !== undefined &&'],
    ['const refused = [...this.#pending.values()].some(', 'const refused = [...this.#unwritten].some('],
  ],
  'append-log/file-log.ts': [
    ['if (!line.endsWith(RECORD_END)) continue;', ''],
    ['own.startsWith(begins))', "begins !== '~~' && own.startsWith(begins))"],
    ['if (written !== bytes.length) throw', 'if (written === bytes.length) throw'],
    ['        this.#sealed = true;\n        return;', '        this.#sealed = true;\n        continue;'],
  ],
  'http/retry.ts': [
    ["if (!request.safe && result.requestSent) return { next: 'unknown' };", ''],
    ['if (!request.safe || !left ||', 'if (!left ||'],
    ["return left ? { next: 'retry', pauseMs: 0 } : { next: 'limited' };", "return { next: 'limited' };"],
    ['500: { retry: true, ambiguous: true }', '500: { retry: true }'],
    ['504: { retry: true, ambiguous: true, slow: true }', '504: { retry: true, ambiguous: true }'],
    ['504: { retry: true, ambiguous: true, slow: true }', '504: { retry: true }'],
    ["if (!left || FINAL_REASONS.has(result.reason)) return { next: 'failed' };", ''],
    [
      'if (!request.safe && result.requestSent) return',
      "if (!request.safe && result.requestSent && result.reason === 'timeout') return",
    ],
    ['202: { ambiguous: true, slow: true },', '202: { ambiguous: true },'],
    ['Math.ceil(Math.max(backoff, retryAfterMs +', 'Math.ceil(Math.min(backoff, retryAfterMs +'],
  ],
  'http/ticket-queue.ts': [
    ['if (until - now > limits.maxWaitMs) throw', 'if (until - now > 100 * limits.maxWaitMs) throw'],
    ['if (left <= 0) throw', 'if (refusal && left <= 0) throw'],
    ['pendingSince = othersSince = undefined;', 'pendingSince = undefined;'],
  ],
  'http/http-client.ts': [
    ['withdrawn ||= aborted.aborted || !ledger.confirm(ticket);', 'withdrawn ||= aborted.aborted;'],
    ['request.beforeSend?.();', ''],
    ["ledger.release(ticket, unsent ? 'unsent' : 'lost');", "ledger.release(ticket, 'unsent');"],
    ['ledger.observe(ticket, seen);', ''],
    ['if (refused && this.#successes > successes) made--;', 'if (refused) made--;'],
    ['if (refused && this.#successes > successes) made--;', 'if (refused && this.#successes >= successes) made--;'],
  ],
  'import/import-error.ts': [
    ['if (unknown.length > 0 && (!stop || !outranksUnknown(stop))) return', 'if (unknown.length > 0 && !stop) return'],
    ["kind === 'auth' || kind === 'storage' || kind === 'internal'", "kind === 'auth' || kind === 'internal'"],
  ],
  'rate-limit/failover.ts': [
    ['    if (blocked) this.#own.inherit(blocked);\n', ''],
    ['this.#usesOwn = false;\n    this.#shareBlock();', 'this.#usesOwn = false;'],
  ],
  'api/categories.ts': [
    ['fromCache: Number(age) !== 0', 'fromCache: Number(age) > 60'],
    [
      'if (response.status !== 201 && response.status !== 200) throw',
      'if (response.status < 200 || response.status >= 300) throw',
    ],
  ],
  'http/rate-limit-headers.ts': [
    [
      'return Math.ceil(value >= 1000 && isMs ? value : seconds);',
      'return Math.ceil(value >= 1000 ? value : seconds);',
    ],
    [
      'if (exhausted && near && resetInMs > retryAfter)',
      'if (exhausted && resetInMs !== undefined && resetInMs > retryAfter)',
    ],
    ['date ?? receivedAt + offsetMs', 'date ?? receivedAt - offsetMs'],
  ],
  'api/response-error.ts': [
    ['if (!request.safe && statusTraits(status).ambiguous) {', 'if (!request.safe && status >= 500) {'],
    ["const processed = safe ? 'no' : 'perhaps';", "const processed = safe ? 'perhaps' : 'no';"],
  ],
  'append-log/stream-log.ts': [
    ["if (fromHead && last !== '') this.#options.onReset?.(before);", ''],
    [
      'return passed <= recentMs && jump <= JUMP_MS ? this.#state : undefined;',
      'return passed <= recentMs ? this.#state : undefined;',
    ],
    ['for i = 2, #rest do redis.call', 'for i = 3, #rest do redis.call'],
    ['passed <= recentMs && jump <= JUMP_MS', 'passed <= recentMs || jump <= JUMP_MS'],
  ],
  'append-log/state-server.ts': [
    [
      'if (!this.#responded || now - this.#downSince >= PATIENCE_MS) throw error;',
      'if (!this.#responded) throw error;',
    ],
    ['this.#responded = true;\n        this.#downSince = undefined;', 'this.#responded = true;'],
  ],
  'http/request-errors.ts': [
    ["is unknown`, {\n    ...hints,\n    processed: 'perhaps',", "is unknown`, {\n    ...hints,\n    processed: 'no',"],
  ],
};

export const MUTATIONS: readonly Mutation[] = Object.entries(CHANGES).flatMap(([file, changes]) =>
  changes.map(([from, to]) => ({ file: `src/${file}`, from, to })),
);
