// `petstore categories import`: creates the categories of a file that do not exist yet.
import type { NewCategory } from '../../api/types.ts';
import type { Action } from '../../command.ts';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { formatCount, formatNumber } from '../../format.ts';
import { dailyNotice, estimate, formatEstimate, startProgressLine } from '../../import/estimate.ts';
import { importError, nextCommands } from '../../import/import-error.ts';
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
  readonly dryRun: boolean;
  readonly yes: boolean;
  /** As typed. */
  readonly concurrency: string;
}

/** An import whose file and options are valid. */
interface Job {
  readonly session: Session;
  readonly options: ImportOptions;
  readonly rows: readonly NewCategory[];
  readonly concurrency: number;
}

export const importAction: Action<ImportOptions, ImportData> = {
  async run(session, options, file = '-') {
    const job = await prepare(session, file, options);
    if (options.dryRun) return preview(job);
    const journal = new Journal(openFileJournal(...(await journalPlace(session))));
    try {
      const { clock, signal } = session.context;
      const onWait = ({ pid }: { readonly pid: number }): void => {
        session.progress.status(() => `waiting for another import (process ${pid})`);
        void session.notice(`waiting for another import to this URL to end (process ${pid})`);
      };
      await journal.acquire({ clock, signal, onWait });
      session.progress.status(undefined);
      const { results, stop } = await send(job, journal);
      session.progress.status(undefined);
      const document = results.document();
      const commands = nextCommands(session.context, file === '-', session.options.profile);
      return { document, failure: importError(document, stop, commands) };
    } finally {
      // Where the release cannot be recorded, the next run finds out that this one has ended.
      await journal.close().catch(() => undefined);
    }
  },
  view: importView,
};

// Where the journal of the target is kept.
async function journalPlace(session: Session): Promise<[stateDir: string, identity: string]> {
  const { identity, keySource } = await session.target();
  if (session.context.env['PETSTORE_STATE_URL'] && keySource !== 'sandbox') {
    throw new PetstoreError('storage', 'this prototype keeps no import journal on a state server', {
      hint: 'unset PETSTORE_STATE_URL to import from this machine alone; nothing was sent',
    });
  }
  return [session.stateDir(), identity];
}

const MAX_CONCURRENCY = 64;

// Checks everything that can be checked before anything is sent.
async function prepare(session: Session, file: string, options: ImportOptions): Promise<Job> {
  const concurrency = Number(options.concurrency);
  if (!/^\d{1,3}$/.test(options.concurrency) || concurrency < 1 || concurrency > MAX_CONCURRENCY) {
    throw new PetstoreError('usage', `--concurrency must be a whole number from 1 to ${MAX_CONCURRENCY}`, {
      hint: 'for example --concurrency 8',
    });
  }
  if (file === '-') await requireYes(session, options);
  const rows = await readRows(await readInputFile(file, session.context), options);
  return { session, options, rows, concurrency };
}

// Rows from a pipe leave no stdin to answer the question, where somebody may be watching.
async function requireYes(session: Session, { yes, dryRun }: ImportOptions): Promise<void> {
  if (yes || dryRun || !session.context.stderr.isTTY) return;
  if ((await session.target()).keySource === 'sandbox') return;
  throw new PetstoreError('usage', 'cannot ask for confirmation while the rows come from a pipe', {
    hint: 'add --yes to import them, or --dry-run to preview',
  });
}

async function preview({ session, rows }: Job): Promise<Preview> {
  const place = await journalPlace(session);
  const { categories } = await session.api();
  const { clock, signal } = session.context;
  const { listed, account } = await firstList({ categories, clock, signal, label: place[0] }, await peek(...place));
  const ledger = await session.ledger();
  await ledger.refresh();
  return previewOf(rows, findRows(rows, account, listed), { quota: ledger.view(), now: ledger.clock.now() });
}

// The accounts as the journal knows them, without its lock; nothing is written.
async function peek(...place: [stateDir: string, identity: string]): Promise<readonly Account[]> {
  if (!hasFileJournal(...place)) return [newAccount()];
  const log = openFileJournal(...place);
  try {
    return (await log.refresh()).accounts;
  } finally {
    log.close();
  }
}

async function send(job: Job, journal: Journal): Promise<RunResult> {
  const { session, rows, concurrency } = job;
  const { context, progress } = session;
  const [api, ledger] = await Promise.all([session.api(), session.ledger()]);
  const line = startProgressLine(
    rows.length,
    ledger.clock,
    () => ledger.view(),
    () => progress.waiting,
  );
  return runImport({
    rows,
    journal,
    categories: api.categories,
    clock: context.clock,
    signal: context.signal,
    concurrency,
    maxRetries: session.options.maxRetries,
    timeoutMs: session.options.timeoutMs,
    onPlan: (results) => confirm(job, results),
    onProgress: (results) => progress.status(() => line(results)),
  });
}

/** What the prompt adds to the question. */
const ANSWERS = ' (y/N)';

// Reports what is about to happen, and asks on a terminal.
async function confirm({ session, options }: Job, results: ImportResults): Promise<void> {
  const { context } = session;
  const { skipped } = results.document();
  const differing = skipped.filter(({ differs }) => differs).length;
  if (differing > 0) {
    const have = differing === 1 ? '1 row has' : `${formatNumber(differing)} rows have`;
    await session.warn(`${have} another description than the category of that name; the service has no update`);
  }
  if (results.altered > 0) {
    const are = results.altered === 1 ? '1 row is' : `${formatNumber(results.altered)} rows are`;
    await session.warn(`${are} listed under another name: the service altered what was sent`);
  }
  const send = results.left;
  if (send === 0) return;
  const ledger = await session.ledger();
  await ledger.refresh();
  const expected = estimate(send, ledger.view(), ledger.clock.now());
  const daily = dailyNotice(send, expected);
  if (daily !== undefined) await session.notice(daily);
  const target = await session.target();
  if (options.yes || context.env['CI'] || target.keySource === 'sandbox') return;
  if (!context.stdin.isTTY || !context.stderr.isTTY) return;
  const { askYesNo } = await import('../../output/prompt.ts');
  const time = expected && expected.ms > 0 ? ` Estimated time: ${formatEstimate(expected)}` : '';
  const question = `Create ${formatCount(send, 'category', 'categories')} at ${target.baseUrl}?${time}`;
  const lines = wrap(`${escapeControls(question)}${ANSWERS}`, context.stderr.columns ?? 80).slice(0, -ANSWERS.length);
  if (!(await askYesNo(context, lines))) throw new PetstoreError('interrupted', 'canceled', { silent: true });
}
