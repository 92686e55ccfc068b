// Changes to ledger, import, retry and HTTP client that short worlds should detect: `npm run bench -- simulate --mutations`.
import type { Mutation } from './simulator.ts';

/** For each file, texts that occur in it once, with their replacements. */
const CHANGES: Readonly<Record<string, readonly (readonly [from: string, to: string])[]>> = {
  'import/run.ts': [
    ['const SETTLE_MS = 2000;', 'const SETTLE_MS = 200;'],
    ['const SETTLE_EARLIER_RUN_MS = 10_000;', 'const SETTLE_EARLIER_RUN_MS = 100;'],
    ['const LIST_RETRIES = 2;', 'const LIST_RETRIES = 0;'],
    ['(!fromCache && !gap && isSure)', '(!gap && isSure)'],
    ['(!fromCache && !gap && isSure)', '(!fromCache && isSure)'],
    ['(!fromCache && !gap && isSure)', '(!fromCache && !gap)'],
    ['if (!fromCache && missingFrom(expected, listed).length === 0)', 'if (!fromCache)'],
    [
      'if (!fromCache && missingFrom(expected, listed).length === 0)',
      'if (missingFrom(expected, listed).length === 0)',
    ],
    ['[...this.#first, ...this.#named, ...journal.account.created.keys()]', 'this.#first'],
    ['[...this.#first, ...this.#named, ...journal.account.created.keys()]', '[...journal.account.created.keys()]'],
    ['else if (!listed || suspect || resends >= maxRetries)', 'else if (!listed || resends >= maxRetries)'],
    ['else if (!listed || suspect || resends >= maxRetries)', 'else if (suspect || resends >= maxRetries)'],
    ["if (means === 'rejected' || means === 'unsent') {", "if (means !== 'slow') {"],
    ["if (means === 'rejected') this.results.set(row, { state: 'failed', error: toPetstoreError(error) });", ''],
    ['if (stop) this.end(error);', ''],
    ["if (means === 'slow') await journal.recordSlow(attempt);", ''],
    ["means === 'slow' ? Math.max(SETTLE_MS, timeoutMs) : SETTLE_MS", 'SETTLE_MS'],
    ['await this.#lookUp();', ''],
    ['if (category) this.results.set(row,', 'if (category && !row) this.results.set(row,'],
    ['const isSure = at >= 0 ||', 'const isSure = true || at >= 0 ||'],
    [
      'await categories.create(this.#row(row), () => journal.assertHeld());',
      'await categories.create(this.#row(row));',
    ],
    [
      'settledAt.reduce((latest, at) => Math.max(latest, at))',
      'settledAt.reduce((latest, at) => Math.min(latest, at))',
    ],
    [
      'const expected = [...this.#first, ...this.#named, ...journal.account.created.keys()];',
      'const expected = [...this.#named, ...journal.account.created.keys()];',
    ],
    ['else if (!listed || suspect || resends >= maxRetries) {', 'else if (!listed || suspect) {'],
    [
      "return { means: 'rejected', stop: !statusTraits(status).rowSpecific };",
      "return { means: 'rejected', stop: false };",
    ],
    ['if (gap) await journal.recordDeleted(gap.lacking);', ''],
    ['if (listed.length > 0 || at < 0) at = accountOf(accounts, listed);', 'at = accountOf(accounts, listed);'],
    ['names.some((name) => isAlike(name, one.name))', 'names.every((name) => isAlike(name, one.name))'],
  ],
  'import/list-proof.ts': [
    ['fresh.delete(category);', ''],
    ['if (!found.has(attempt)) wanted.get(name)?.push({ attempt });', '{}'],
    ['account.created.get(String(category.id)) ?? category;', '({ ...category, label: undefined });'],
    [
      'return most > 0 ? counts.lastIndexOf(most) : accounts.findIndex(isEmpty);',
      'return accounts.findIndex(isEmpty);',
    ],
    [
      'wanted.get(category.name)?.push({ category });\n',
      'wanted.set(category.name, [{ category }, { category }, { category }]);\n',
    ],
    ['return [...ids].filter((id) => !there.has(id));', 'return [];'],
    [
      '[...fresh].filter((one) => numberOf(one) >= (uncertain.get(attempt)?.known ?? 0));',
      '[...fresh].filter((one) => numberOf(one) > (uncertain.get(attempt)?.known ?? 0));',
    ],
    [
      '    const { name, label } = account.created.get(String(category.id)) ?? category;',
      "    const { name, label } = { ...category, label: '' };",
    ],
    ["return createHash('sha256').update(name).digest('base64').slice(0, 12);", 'return name;'],
  ],
  'import/journal.ts': [
    ["await this.#append(['send', this.#run, attempt, name]);\n    await this.#log.sync();", ''],
    ["await this.#append(['created', this.#run, attempt, id, label]);", ''],
    ['if (lock?.run === this.#run) break;', 'break;'],
    ["if (state === 'dead' ||", "if (state !== 'dead' ||"],
    ["return this.#append(['absent', this.#run, attempt]);", 'return Promise.resolve();'],
    ["for (const some of inPortions(fresh)) await this.#append(['known', this.#run, some]);", ''],
    ['this.#log.confirm();\n    this.#assertLock();', ''],
    ['|| this.creationOf(attempt)) continue;', ') continue;'],
    ['|| isEnded() ||', '||'],
    [
      "    await this.#append(['send', this.#run, attempt, name]);\n    await this.#log.sync();",
      "    await this.#append(['send', this.#run, attempt, name]);",
    ],
    ["if (state === 'dead' || (state === 'unknown' && now - since >= SILENCE_MS)) {", "if (state !== 'alive') {"],
    [
      "await this.#append(['send', this.#run, attempt, name]);\n    await this.#log.sync();\n    return attempt;",
      "await this.#append(['send', this.#run, attempt, name]);\n    this.#log.sync();\n    return attempt;",
    ],
    [' since = now;', ' since ||= now;'],
  ],
  'import/journal-state.ts': [
    [
      "else if (kind === 'absent') account.uncertain.delete(record[2]);",
      "else if (kind === 'absent') account.uncertain.clear();",
    ],
    ['if (!account || account.known.has(id)) return;', 'if (!account) return;'],
    ['if (isFreed) state.lock = undefined;', 'if (isFreed) state.lock = lock;'],
    ['uncertain: new Map(uncertain),', 'uncertain: new Map(),'],
    [
      "const isFreed = kind === 'release' || (kind === 'expire' && lock.beats === record[2]);",
      "const isFreed = kind === 'release' || kind === 'expire';",
    ],
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
    ['return there?.ino === this.#fs.fstatSync(this.#fd).ino;', 'return there !== undefined;'],
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
  'import/journal-server.ts': [['(exists && isSameServer ? 0 :', '(exists || isSameServer ? 0 :']],
  'http/request-errors.ts': [
    ["is unknown`, {\n    ...hints,\n    processed: 'perhaps',", "is unknown`, {\n    ...hints,\n    processed: 'no',"],
  ],
};

export const MUTATIONS: readonly Mutation[] = Object.entries(CHANGES).flatMap(([file, changes]) =>
  changes.map(([from, to]) => ({ file: `src/${file}`, from, to })),
);
