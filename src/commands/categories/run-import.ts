// `petstore categories import`: creates the categories of a file that do not exist yet.
import type { NewCategory } from '../../api/types.ts';
import type { ProcessRef } from '../../append-log/process-liveness.ts';
import type { StateServer } from '../../append-log/state-server.ts';
import type { Action } from '../../command.ts';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { formatCount, formatNumber } from '../../format.ts';
import { dailyNotice, estimate, formatEstimate, startProgressLine } from '../../import/estimate.ts';
import { importError, withoutProfile } from '../../import/import-error.ts';
import type { JournalLog } from '../../import/journal.ts';
import { Journal } from '../../import/journal.ts';
import { hasFileJournal, openFileJournal } from '../../import/journal-file.ts';
import type { Account } from '../../import/journal-state.ts';
import { newAccount } from '../../import/journal-state.ts';
import { findRows } from '../../import/list-proof.ts';
import type { ImportResults, Preview } from '../../import/results.ts';
import { previewOf } from '../../import/results.ts';
import { readInputFile, readRows } from '../../import/rows.ts';
import type { RunResult } from '../../import/run.ts';
import { firstList, runImport } from '../../import/run.ts';
import { wrap } from '../../output/wrap.ts';
import type { Session } from '../../session.ts';
import type { ImportData } from './import-view.ts';
import { importView } from './import-view.ts';

interface ImportOptions {
  readonly delimiter: string | undefined;
  readonly map: readonly string[] | undefined;
  readonly ignoreExtra: boolean;
  readonly trustList: boolean;
  readonly dryRun: boolean;
  readonly yes: boolean;
  /** The unparsed value of `--concurrency`. */
  readonly concurrency: string;
}

/** An import whose file and options are valid. */
interface Job {
  readonly session: Session;
  readonly options: ImportOptions;
  readonly rows: readonly NewCategory[];
  readonly concurrency: number;
  readonly server: StateServer | undefined;
}

export const importAction: Action<ImportOptions, ImportData> = {
  async run(session, options, file = '-') {
    const job = await prepare(session, file, options);
    if (options.dryRun) return preview(job);
    // The prompt comes before the lock, so that an open prompt does not block other imports.
    const asked = await confirm(job);
    const journal = new Journal(await openLog(job));
    try {
      const { args, clock, signal } = session.context;
      await journal.acquire({ clock, signal, onWait: (holder) => reportWait(session, holder) });
      const { results, stop } = await send(job, journal, asked);
      session.progress.status(undefined);
      const document = results.document();
      return { document, failure: importError(document, stop, file === '-' ? undefined : withoutProfile(args)) };
    } finally {
      // If the release cannot be recorded, the next run detects that this process has ended.
      await journal.close().catch(() => undefined);
    }
  },
  view: importView,
};

// Opens the journal of the target, on the state server if one is configured, otherwise on this machine.
async function openLog({ session, server }: Job): Promise<JournalLog> {
  const { identity } = await session.target();
  if (server === undefined) return openFileJournal(session.stateDir(), identity);
  const { openServerJournal } = await import('../../import/journal-server.ts');
  return openServerJournal(identity, {
    server,
    clock: session.context.clock,
    onWarning: (text) => void session.warn(text),
    onSettle: (text) => void session.notice(text),
  });
}

// Reads the accounts from the journal, without its lock and without writing.
async function peek(job: Job): Promise<readonly Account[]> {
  const { session, server } = job;
  const { identity } = await session.target();
  if (!server && !hasFileJournal(session.stateDir(), identity)) return [newAccount()];
  const log = await openLog(job);
  try {
    return (await log.refresh()).accounts;
  } finally {
    log.close();
  }
}

// Warns about a server that may lose the journal, before anything is sent.
async function openStateServer(session: Session): Promise<StateServer | undefined> {
  const { keySource } = await session.target();
  const server = keySource === 'sandbox' ? undefined : await session.stateServer();
  if (!server) return undefined;
  session.context.cleanups.push(async () => server.close());
  const policy = await server.evictionPolicy();
  const info = await server.info();
  if (policy !== undefined) {
    await session.warn(`state server ${server.name} may evict the import journal (maxmemory-policy ${policy})`);
  } else if (info.get('aof_enabled') === '0' && info.get('connected_slaves') === '0') {
    const { name } = server;
    await session.warn(`append-only persistence is off on state server ${name}; a restart could cause duplicate rows`);
  }
  return server;
}

async function reportWait({ context, options, notice }: Session, { pid, host }: ProcessRef): Promise<void> {
  const machine = host.split(' ')[0] ?? '';
  if (options.json && !options.quiet) {
    await context.stderr.write(`${JSON.stringify({ waiting: { reason: 'import', pid, host: machine } })}\n`);
  }
  await notice(`waiting for another import to finish (PID ${pid} on ${machine})`);
}

const MAX_CONCURRENCY = 64;

// Checks options, file and state server before anything is sent.
async function prepare(session: Session, file: string, options: ImportOptions): Promise<Job> {
  const concurrency = Number(options.concurrency);
  if (!/^\d{1,3}$/.test(options.concurrency) || concurrency < 1 || concurrency > MAX_CONCURRENCY) {
    throw new PetstoreError('usage', `invalid number "${escapeControls(options.concurrency)}" for --concurrency`, {
      hint: `use a whole number from 1 to ${MAX_CONCURRENCY}`,
    });
  }
  if (file === '-') await requireYes(session, options);
  const rows = await readRows(await readInputFile(file, session.context), options);
  return { session, options, rows, concurrency, server: await openStateServer(session) };
}

// Rows from stdin leave no stdin to answer a prompt.
async function requireYes(session: Session, options: ImportOptions): Promise<void> {
  if (options.dryRun || !(await mayAsk(session, options))) return;
  throw new PetstoreError('usage', 'cannot prompt for confirmation: stdin is not a terminal', {
    hint: 'use --yes to skip confirmation',
  });
}

async function mayAsk({ context, target }: Session, { yes }: ImportOptions): Promise<boolean> {
  const { env, stderr } = context;
  return !yes && !env['CI'] && stderr.isTTY && (await target()).keySource !== 'sandbox';
}

async function preview(job: Job): Promise<Preview> {
  const { session, options, rows } = job;
  const { categories } = await session.api();
  const { clock, signal } = session.context;
  const { trustList } = options;
  const accounts = await peek(job);
  const { listed, account } = await firstList({ rows, categories, clock, signal, trustList }, accounts);
  const ledger = await session.ledger();
  await ledger.refresh();
  return previewOf(rows, findRows(rows, account, listed), { quota: ledger.view(), now: session.context.clock.now() });
}

/** The suffix that the prompt adds to a question. */
const ANSWERS = ' (y/N)';

// Asks on a terminal, with the figures of a dry run. Returns whether it asked.
async function confirm(job: Job): Promise<boolean> {
  const { context } = job.session;
  if (!context.stdin.isTTY || !(await mayAsk(job.session, job.options))) return false;
  const { toCreate, estimate } = await preview(job);
  if (toCreate.length === 0) return false;
  const daily = dailyNotice(toCreate.length, estimate);
  if (daily !== undefined) await job.session.warn(daily);
  const { baseUrl } = await job.session.target();
  const { askYesNo } = await import('../../output/prompt.ts');
  const question = `Create ${formatCount(toCreate.length, 'category', 'categories')} at ${baseUrl}? Estimated time: ${formatEstimate(estimate)}`;
  const lines = wrap(`${escapeControls(question)}${ANSWERS}`, context.stderr.columns ?? 80).slice(0, -ANSWERS.length);
  if (!(await askYesNo(context, lines))) throw new PetstoreError('interrupted', 'canceled', { silent: true });
  return true;
}

async function send(job: Job, journal: Journal, asked: boolean): Promise<RunResult> {
  const { session, options, rows, concurrency } = job;
  const { context, progress } = session;
  const [api, ledger] = await Promise.all([session.api(), session.ledger()]);
  const line = startProgressLine(
    rows.length,
    session.context.clock,
    () => ledger.view(),
    () => progress.waiting,
  );
  return runImport({
    rows,
    journal,
    trustList: options.trustList,
    categories: api.categories,
    clock: context.clock,
    signal: context.signal,
    concurrency,
    maxRetries: session.options.maxRetries,
    timeoutMs: session.options.timeoutMs,
    onPlan: (results) => report(session, results, asked),
    onProgress: (results) => progress.status((room) => line(results, room)),
  });
}

// Warns about unexpected facts before the first row is sent; a prompt has already named the daily limit.
async function report(session: Session, results: ImportResults, asked: boolean): Promise<void> {
  const { skipped } = results.document();
  const differing = skipped.filter(({ differs }) => differs).length;
  if (differing > 0) {
    const have = differing === 1 ? '1 existing category has' : `${formatNumber(differing)} existing categories have`;
    await session.warn(`${have} a different description and cannot be updated`);
  }
  if (results.altered > 0) {
    await session.warn(`the service lists ${formatCount(results.altered, 'row')} under a different name`);
  }
  if (asked || results.left === 0) return;
  const ledger = await session.ledger();
  await ledger.refresh();
  const daily = dailyNotice(results.left, estimate(results.left, ledger.view(), session.context.clock.now()));
  if (daily !== undefined) await session.warn(daily);
}
