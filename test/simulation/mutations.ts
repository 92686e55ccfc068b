// Changes of ledger, import, retry and HTTP client that the short worlds should notice: `npm run bench -- simulate --mutations`.
import type { Mutation } from './simulator.ts';

const of =
  (file: string) =>
  (from: string, to: string): Mutation => ({ file: `src/${file}`, from, to });
const run = of('import/run.ts');
const proof = of('import/list-proof.ts');
const journal = of('import/journal.ts');
const journalState = of('import/journal-state.ts');
const policy = of('rate-limit/policy.ts');
const ledger = of('rate-limit/ledger.ts');
const client = of('http/http-client.ts');
const retry = of('http/retry.ts');
const headers = of('http/rate-limit-headers.ts');
const log = of('append-log/file-log.ts');

export const MUTATIONS: readonly Mutation[] = [
  // Import: one run.
  run('const SETTLE_MS = 2000;', 'const SETTLE_MS = 200;'),
  run('const SETTLE_LEFT_MS = 10_000;', 'const SETTLE_LEFT_MS = 100;'),
  run('const LOOKS = 2;', 'const LOOKS = 0;'),
  run('(!fromCache && !gap && isSure)', '(!gap && isSure)'),
  run('(!fromCache && !gap && isSure)', '(!fromCache && isSure)'),
  run('(!fromCache && !gap && isSure)', '(!fromCache && !gap)'),
  run('if (!fromCache && missingFrom(expected, listed).length === 0) return listed;', 'if (!fromCache) return listed;'),
  run(
    'if (!fromCache && missingFrom(expected, listed).length === 0) return listed;',
    'if (missingFrom(expected, listed).length === 0) return listed;',
  ),
  run('const expected = [...this.#first, ...journal.account.created.keys()];', 'const expected = [...this.#first];'),
  run('else if (!listed || suspect || resends >= maxRetries)', 'else if (!listed || resends >= maxRetries)'),
  run('else if (!listed || suspect || resends >= maxRetries)', 'else if (suspect || resends >= maxRetries)'),
  run("if (means === 'rejected' || means === 'unsent') {", "if (means !== 'slow') {"),
  run(
    "if (means === 'unsent') this.results.set(row, undefined);",
    "if (means === 'unsent') this.results.set(row, { state: 'created', attempt, category: { id: 1, name: '' } });",
  ),
  run('if (stop) this.end(error);', ''),
  run('this.#queue.push(row);\n', ''),
  run("if (means === 'slow') await journal.recordSlow(attempt);", ''),
  run("means === 'slow' ? Math.max(SETTLE_MS, timeoutMs) : SETTLE_MS", 'SETTLE_MS'),
  run("kind === 'unknown_outcome'", "kind === 'none'"),
  run('this.#givenUp.add(row);', ''),
  // Import: what a list proves.
  proof('shows', 'shows'),
  proof('numberOf(one) >= oldest && !isOwn(one)', '!isOwn(one)'),
  proof('isFree(one) && numberOf(one) >= doubt.known', 'isFree(one)'),
  proof('fresh.delete(category);', ''),
  proof('if (!finding', 'if (!finding'),
  proof(
    'for (const [attempt, { name }] of account.doubts) if (!found.has(attempt)) wanted.get(name)?.push({ attempt });',
    '',
  ),
  proof(
    'const { name, label } = account.created.get(String(category.id)) ?? category;',
    'const { name, label } = { ...category, label: undefined };',
  ),
  proof(
    'return most > 0 ? counts.lastIndexOf(most) : accounts.findIndex(isEmpty);',
    'return accounts.findIndex(isEmpty);',
  ),
  // Import: its journal.
  journal("await this.#append(['send', this.#run, attempt, name]);", ''),
  journal("await this.#append(['created', this.#run, attempt, id, label]);", ''),
  journal('if (lock?.run === this.#run) break;', 'break;'),
  journal("if (state === 'dead' ||", "if (state !== 'dead' ||"),
  journal("return this.#append(['absent', this.#run, attempt]);", 'return Promise.resolve();'),
  journal("await this.#append(['known', this.#run, some]);", ''),
  journal("return this.#append(['found', this.#run, attempt, id, label]);", 'return Promise.resolve();'),
  journal("await this.#log.append(formatRecord(['release', this.#run]));", ''),
  journalState('account.doubts.delete(record[2]);', ''),
  journalState('if (!account || account.known.has(id)) return;', 'if (!account) return;'),
  journalState('state.lock ??= { ...record[2], run, beats: 0 };', 'state.lock = { ...record[2], run, beats: 0 };'),
  journalState('if (!lock || lock.run !== run) return;', 'if (!lock) return;'),
  journalState('if (isFreed) state.lock = undefined;', ''),
  // The policy of the rate limit.
  policy('if (block && t < block.until) return', 'if (block && t < block.since) return'),
  policy('if (open.some(({ probe }) => probe)) return PENDING;', ''),
  policy('if (left - open.length >= 1)', 'if (left >= 1)'),
  policy('if (left - open.length >= 1)', 'if (left - open.length >= 0)'),
  policy('if (left - open.length >= 1)', 'if (left - open.length >= 2)'),
  policy('if (!state.verified || (window && t >= windowEnd(window)))', 'if (window && t >= windowEnd(window))'),
  policy('(window && t >= windowEnd(window))) {', '(window && t >= windowEnd(window) + 60_000)) {'),
  policy('const left = window.remaining - unanswered;', 'const left = window.remaining;'),
  policy('return resetAt + guardMs;', 'return resetAt - 1500;'),
  policy('return resetAt + guardMs;', 'return resetAt + guardMs + 120_000;'),
  policy('const remaining = Math.min(known.remaining, reading.remaining);', 'const { remaining } = reading;'),
  policy(
    "const resetAt = clock === 'service' ? reset.at - (state.offset?.lo ?? 0) : reset.at;",
    'const resetAt = reset.at;',
  ),
  policy('const until = seen.at + ms + jitter;', 'const until = seen.at + ms / 2;'),
  policy('const until = seen.at + ms + jitter;', 'const until = seen.at + 3 * ms + 30_000;'),
  policy('const ms = Math.min(Math.max(stated, floor), RULES.blockCapMs);', 'const ms = floor;'),
  policy('!(block && t < block.until);', 'true;'),
  policy('else if (until > block.until) state.block =', 'else if (until < block.until) state.block ='),
  policy(
    "else if (record.how === 'unsent') delete state.tickets[record.id];",
    "else if (record.how !== 'dead') delete state.tickets[record.id];",
  ),
  policy('if (block && !(ticket && ticket.seq > block.extendedBy)) return;', ''),
  policy('state.block = undefined;\n  state.verified = true;', 'state.verified = true;'),
  // Ledger and log.
  ledger('return state !== undefined && confirm(', 'return state === undefined || confirm('),
  ledger('if (id in state.tickets) return { granted: true, ticket: id };', 'return { granted: true, ticket: id };'),
  ledger('this.#closeDeadTickets(state);', ''),
  log('if (line === this.#pending) this.#written = { result };', 'this.#written = { result };'),
  log('if (!line.endsWith(RECORD_END)) continue;', ''),
  log('if (written !== bytes.length) throw', 'if (written < 0) throw'),
  // Retry and HTTP client.
  retry("if (!request.safe && result.requestSent) return { next: 'unknown' };", ''),
  retry(
    'if (!request.safe || !left || !statusTraits(result.status).retry)',
    'if (!left || !statusTraits(result.status).retry)',
  ),
  retry(
    "if (status === 429) return left ? { next: 'retry', pauseMs: 0 } : { next: 'limited' };",
    "if (status === 429) return { next: 'retry', pauseMs: 0 };",
  ),
  retry('500: { retry: true, ambiguous: true }', '500: { retry: true }'),
  retry('504: { retry: true, ambiguous: true, slow: true }', '504: { retry: true, ambiguous: true }'),
  retry('504: { retry: true, ambiguous: true, slow: true }', '504: { retry: true }'),
  client('withdrawn ||= aborted.aborted || !ledger.confirm(ticket);', 'withdrawn ||= aborted.aborted;'),
  client('request.beforeSend?.();', ''),
  client('if (until - now > limits.maxWaitMs) throw', 'if (until - now > 100 * limits.maxWaitMs) throw'),
  client("ledger.release(ticket, unsent ? 'unsent' : 'lost');", "ledger.release(ticket, 'unsent');"),
  client('if (!seen) ledger.release(', 'if (seen) ledger.release('),
  client('ledger.observe(ticket, seen);', ''),
  client('signal.throwIfAborted();\n        const ticket', 'const ticket'),
  headers('retryAfter !== undefined', 'retryAfter === undefined'),
];
