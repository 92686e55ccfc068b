// `petstore categories import`: creates one category per row of a file, each exactly once.
import type { NewCategory } from '../../api/types.ts';
import type { Action } from '../../command.ts';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { formatCount, formatDuration, formatNumber } from '../../format.ts';
import { dailyNotice, estimate, formatEstimate, startProgressLine } from '../../import/estimate.ts';
import { importError, resumeCommand } from '../../import/import-error.ts';
import type { ImportPlan } from '../../import/import-state.ts';
import type { LockOptions } from '../../import/journal.ts';
import { Journal } from '../../import/journal.ts';
import type { JournalStore } from '../../import/journal-files.ts';
import { fileJournals, journalName } from '../../import/journal-files.ts';
import { journalFormat } from '../../import/journal-state.ts';
import { completeList, missingFromList } from '../../import/lookup.ts';
import { otherImports, readJournal, staleImportOf, supersede } from '../../import/other-journals.ts';
import type { Preview } from '../../import/results.ts';
import { previewOf } from '../../import/results.ts';
import { digestOf, readInputFile, readRows } from '../../import/rows.ts';
import type { RunResult } from '../../import/run.ts';
import { runImport } from '../../import/run.ts';
import { wrap } from '../../output/wrap.ts';
import type { Session } from '../../session.ts';
import type { ImportData } from './import-view.ts';
import { importView } from './import-view.ts';

interface ImportOptions {
  readonly delimiter: string | undefined;
  readonly ignoreExtra: boolean;
  readonly skipExisting: boolean;
  readonly dryRun: boolean;
  readonly yes: boolean;
  /** As typed. */
  readonly concurrency: string;
  readonly restart: boolean;
}

/** An import whose file and options are valid. */
interface Job {
  readonly session: Session;
  readonly options: ImportOptions;
  readonly rows: readonly NewCategory[];
  /** Identifies the file; undefined for stdin. */
  readonly source: string | undefined;
  readonly store: JournalStore;
  /** The journal's name in the store. */
  readonly name: string;
  readonly concurrency: number;
}

export const importAction: Action<ImportOptions, ImportData> = {
  async run(session, options, file = '-') {
    const job = await prepare(session, file, options);
    if (options.dryRun) return preview(job);
    const { rows, source, store, name } = job;
    const journal = new Journal(await store.open(name, 'run'));
    try {
      const lock = lockOptions(session);
      await journal.acquire({ version: 2, source, rows: rows.length }, options.restart, lock);
      if (source !== undefined) await supersede(store, name, source, lock);
      session.progress.status(undefined);
      const result = await send(job, journal);
      session.progress.status(undefined);
      const document = result.results.document();
      return { document, failure: importError(document, result, resumeCommand(session.context, source === undefined)) };
    } finally {
      // Where the release cannot be recorded, the next run finds out that this one has ended.
      await journal.close().catch(() => undefined);
    }
  },
  view: importView,
};

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
  const input = await readInputFile(file, session.context);
  const rows = await readRows(input, options);
  const job = {
    session,
    options,
    rows,
    source: input.id,
    store: await openJournals(session),
    name: journalName(digestOf(rows)),
    concurrency,
  };
  if (!options.restart && !options.skipExisting) await refuseChanged(job);
  return job;
}

// On the state server, if one is configured, and only there: a second set of journals could create rows twice.
async function openJournals(session: Session): Promise<JournalStore> {
  const { identity, key, keySource } = await session.target();
  const server = keySource === 'sandbox' ? undefined : await session.stateServer();
  if (!server) return fileJournals(session.stateDir(), identity, key);
  const { clock, cleanups } = session.context;
  cleanups.push(async () => server.close());
  const { sharedJournals } = await import('../../import/shared-journals.ts');
  return sharedJournals(identity, key, { server, clock, onWarning: (text) => void session.warn(text) });
}

// Rows from a pipe leave no stdin to answer the question, where somebody may be watching.
async function requireYes(session: Session, { yes, dryRun }: ImportOptions): Promise<void> {
  if (yes || dryRun || !session.context.stderr.isTTY) return;
  if ((await session.target()).keySource === 'sandbox') return;
  throw new PetstoreError('usage', 'cannot ask for confirmation while the rows come from a pipe', {
    hint: 'add --yes to import them, or --dry-run to preview',
  });
}

async function refuseChanged({ store, name, source }: Job): Promise<void> {
  const before = source === undefined ? undefined : await staleImportOf(store, name, source);
  if (!before) return;
  const done = `${formatNumber(before.created)} of its ${formatCount(before.rows, 'row')} were created`;
  throw new PetstoreError('usage', `the file has changed since its import began: ${done}`, {
    hint: 'restore it to resume, or add --skip-existing to create what is missing, or --restart to create every row',
  });
}

async function preview({ session, options, rows, store, name }: Job): Promise<Preview> {
  const state = options.restart ? journalFormat.initial() : await readJournal(store, name, rows.length);
  const { owners } = state;
  const { categories } = await session.api();
  const { clock, signal } = session.context;
  // As a run would: from a list that lacks what this import created, nothing is concluded.
  const listed = await completeList({ categories, clock, signal }, () => owners.keys());
  if (!listed) throw missingFromList(owners.size);
  const ledger = await session.ledger();
  await ledger.refresh();
  const { skipExisting } = options;
  return previewOf(rows, state, listed, { skipExisting, quota: ledger.view(), now: ledger.clock.now() });
}

function lockOptions({ context, progress }: Session): LockOptions {
  const onWait = (leftMs: number): void =>
    progress.status(() => `checking whether another run is importing these rows, ${formatDuration(leftMs)}`);
  return { clock: context.clock, signal: context.signal, onWait };
}

async function send(job: Job, journal: Journal): Promise<RunResult> {
  const { session, options, rows, concurrency, store, name } = job;
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
    lookAtOthers: () => otherImports(store, name),
    clock: context.clock,
    signal: context.signal,
    concurrency,
    maxRetries: session.options.maxRetries,
    timeoutMs: session.options.timeoutMs,
    skipExisting: options.skipExisting,
    onPlan: (plan) => confirm(job, plan),
    onProgress: (results) => progress.status(() => line(results)),
  });
}

/** What the prompt adds to the question. */
const ANSWERS = ' (y/N)';

// Reports what is about to happen, and asks on a terminal.
async function confirm({ session, options, rows }: Job, { send, existing, resumed }: ImportPlan): Promise<void> {
  const { context } = session;
  if (resumed > 0) {
    const done = `${formatNumber(resumed)} of ${formatCount(rows.length, 'row')}`;
    await session.notice(`resuming: ${done} ${resumed === 1 ? 'was' : 'were'} created by an earlier run`);
  }
  if (send === 0) return;
  const repeated = rows.length - new Set(rows.map(({ name }) => name)).size;
  if (repeated > 0) {
    const repeat = repeated === 1 ? '1 row repeats' : `${formatNumber(repeated)} rows repeat`;
    await session.warn(`${repeat} the name of an earlier row; each row becomes a category`);
  }
  if (existing > 0) {
    const have = existing === 1 ? '1 row has' : `${formatNumber(existing)} rows have`;
    await session.notice(`${have} a name that already exists (--skip-existing skips such rows)`);
  }
  const ledger = await session.ledger();
  await ledger.refresh();
  const expected = estimate(send, ledger.view(), ledger.clock.now());
  const daily = dailyNotice(send, expected);
  if (daily !== undefined) await session.notice(daily);
  const target = await session.target();
  if (options.yes || target.keySource === 'sandbox' || !context.stdin.isTTY || !context.stderr.isTTY) return;
  const { askYesNo } = await import('../../output/prompt.ts');
  const time = expected && expected.ms > 0 ? ` Estimated time: ${formatEstimate(expected)}` : '';
  const question = `Create ${formatCount(send, 'category', 'categories')} at ${target.baseUrl}?${time}`;
  const lines = wrap(`${escapeControls(question)}${ANSWERS}`, context.stderr.columns ?? 80).slice(0, -ANSWERS.length);
  if (!(await askYesNo(context, lines))) throw new PetstoreError('interrupted', '');
}
