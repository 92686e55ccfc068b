// `petstore categories import`: a file's rows, checked, journaled, created exactly once each.
import { formatDuration } from '../../duration.ts';
import type { PetstoreError } from '../../errors.ts';
import { importError, resumeCommand } from '../../import/import-error.ts';
import type { LockOptions } from '../../import/journal.ts';
import { Journal } from '../../import/journal.ts';
import type { RowEntry } from '../../import/journal-record.ts';
import { otherImports, readJournal, supersede } from '../../import/other-journals.ts';
import type { Preview } from '../../import/preview.ts';
import { previewOf } from '../../import/preview.ts';
import { startProgressLine } from '../../import/progress-line.ts';
import type { ImportDocument } from '../../import/results.ts';
import type { RunResult } from '../../import/run.ts';
import { runImport } from '../../import/run.ts';
import type { View } from '../../output/view.ts';
import type { Session } from '../../session.ts';
import { announce, confirmImport } from './import-prompts.ts';
import { importView } from './import-view.ts';
import type { ImportInput, Job } from './prepare-import.ts';
import { prepare } from './prepare-import.ts';

/** What became of every row, and why that is a failure, if it is; or what would become of them. */
export type ImportData = { readonly document: ImportDocument; readonly failure: PetstoreError | undefined } | Preview;

/** The document, or the preview. */
export const view: View<ImportData> = importView;

/**
 * @param session the open session
 * @param input the file and the options
 * @returns what became of every row, once anything was sent; with `--dry-run` what would be created
 * @throws PetstoreError `usage` for a bad file, a file that was changed in the middle of its import, a second run of
 *   the same import, and a service whose data was reset since; `storage` where the journal cannot be used; else as the api does, where nothing was created
 */
export async function run(session: Session, input: ImportInput): Promise<ImportData> {
  const job = await prepare(session, input);
  const noted = input.restart ? new Map<number, RowEntry>() : await readJournal(job.store, job.name, job.rows.length);
  if (input.dryRun) return preview(job, noted);
  await confirmImport(job, noted);
  const journal = new Journal(await job.store.open(job.name, 'run'));
  try {
    const lock = lockOptions(job);
    await journal.acquire({ version: 2, source: job.source.path, rows: job.rows.length }, input.restart, lock);
    if (job.source.path !== undefined) await supersede(job.store, job.name, job.source.path, lock);
    return await finish(job, await send(job, journal));
  } finally {
    // Where that cannot be noted, the next run finds out by itself that this one has ended.
    await journal.close().catch(() => undefined);
  }
}

/**
 * @param data what `run` returned
 * @returns why the command fails although it printed a document
 */
export function exitError(data: ImportData): PetstoreError | undefined {
  return 'document' in data ? data.failure : undefined;
}

async function preview({ session, input, rows }: Job, noted: ReadonlyMap<number, RowEntry>): Promise<Preview> {
  const listed = await (await session.api()).categories.list();
  const ledger = await session.ledger();
  await ledger.refresh();
  return previewOf(rows, noted, listed, {
    skipExisting: input.skipExisting,
    quota: ledger.view(),
    now: ledger.clock.now(),
  });
}

async function send(job: Job, journal: Journal): Promise<RunResult> {
  const { session, input, rows, concurrency } = job;
  const { context, options } = session;
  const [api, ledger] = await Promise.all([session.api(), session.ledger()]);
  const pace = startProgressLine(rows.length, ledger.clock, () => ledger.view());
  return runImport({
    rows,
    journal,
    categories: api.categories,
    others: otherImports(job.store, job.name),
    clock: context.clock,
    signal: context.signal,
    concurrency,
    maxRetries: options.maxRetries,
    timeoutMs: options.timeoutMs,
    skipExisting: input.skipExisting,
    onPlan: (plan) => announce(job, plan),
    // Made anew whenever it is painted: through a long wait it must not tell of the moment before.
    onProgress: (results) => session.progress.status?.(() => pace(results)),
  });
}

function lockOptions({ session: { context, progress } }: Job): LockOptions {
  const onWait = (leftMs: number): void =>
    progress.status?.(() => `waiting to see whether another run is importing these rows, ${formatDuration(leftMs)}`);
  return { clock: context.clock, signal: context.signal, onWait };
}

async function finish({ session, source }: Job, result: RunResult): Promise<ImportData> {
  session.progress.status?.(undefined);
  const document = result.results.document();
  const goOn = resumeCommand(session.context, source.path === undefined);
  return { document, failure: importError(document, result, goOn) };
}
