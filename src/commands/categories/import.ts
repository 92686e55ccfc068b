// `petstore categories import`: creates one category per row of a file, each exactly once.

import type { PetstoreError } from '../../errors.ts';
import { formatDuration } from '../../format.ts';
import { startProgressLine } from '../../import/estimate.ts';
import { importError, resumeCommand } from '../../import/import-error.ts';
import type { LockOptions } from '../../import/journal.ts';
import { Journal } from '../../import/journal.ts';
import { journalFormat } from '../../import/journal-state.ts';
import { completeList, missingFromList } from '../../import/lookup.ts';
import { otherImports, readJournal, supersede } from '../../import/other-journals.ts';
import type { Preview } from '../../import/results.ts';
import { previewOf } from '../../import/results.ts';
import type { RunResult } from '../../import/run.ts';
import { runImport } from '../../import/run.ts';
import type { View } from '../../output/view.ts';
import type { Session } from '../../session.ts';
import { confirmImport } from './import-prompts.ts';
import type { ImportData } from './import-view.ts';
import { importView } from './import-view.ts';
import type { ImportInput, Job } from './prepare-import.ts';
import { prepare } from './prepare-import.ts';

export const view: View<ImportData> = importView;

/**
 * @returns the document once anything was sent; with `--dry-run` the preview
 * @throws PetstoreError `usage` for a bad file, a file that was changed during its import, and a second run of the same
 *   import; `storage` where the journal cannot be used; `unknown_outcome` where the service does not list what it created
 */
export async function run(session: Session, input: ImportInput): Promise<ImportData> {
  const job = await prepare(session, input);
  if (input.dryRun) return preview(job);
  const journal = new Journal(await job.store.open(job.name, 'run'));
  try {
    const lock = lockOptions(job);
    await journal.acquire({ version: 2, source: job.source.id, rows: job.rows.length }, input.restart, lock);
    if (job.source.id !== undefined) await supersede(job.store, job.name, job.source.id, lock);
    session.progress.status?.(undefined);
    const result = await send(job, journal);
    session.progress.status?.(undefined);
    const document = result.results.document();
    const resume = resumeCommand(session.context, job.source.id === undefined);
    return { document, failure: importError(document, result, resume) };
  } finally {
    // Where the release cannot be recorded, the next run finds out that this one has ended.
    await journal.close().catch(() => undefined);
  }
}

/** @returns why the command fails although it printed a document */
export function exitError(data: ImportData): PetstoreError | undefined {
  return 'document' in data ? data.failure : undefined;
}

async function preview({ session, input, rows, store, name }: Job): Promise<Preview> {
  const state = input.restart ? journalFormat.initial() : await readJournal(store, name, rows.length);
  const { owners } = state;
  const { categories } = await session.api();
  const { clock, signal } = session.context;
  // As a run would: from a list that lacks what this import created, nothing is concluded.
  const listed = await completeList({ categories, clock, signal }, () => owners.keys());
  if (!listed) throw missingFromList(owners.size);
  const ledger = await session.ledger();
  await ledger.refresh();
  const { skipExisting } = input;
  return previewOf(rows, state, listed, { skipExisting, quota: ledger.view(), now: ledger.clock.now() });
}

function lockOptions({ session: { context, progress } }: Job): LockOptions {
  const onWait = (leftMs: number): void =>
    progress.status?.(() => `checking whether another run is importing these rows, ${formatDuration(leftMs)}`);
  return { clock: context.clock, signal: context.signal, onWait };
}

async function send(job: Job, journal: Journal): Promise<RunResult> {
  const { session, input, rows, concurrency, store, name } = job;
  const { context, options, progress } = session;
  const [api, ledger] = await Promise.all([session.api(), session.ledger()]);
  const showWait = progress.wait;
  let waiting = false;
  progress.wait = (wait) => {
    waiting = wait !== undefined;
    showWait?.(wait);
  };
  const line = startProgressLine(
    rows.length,
    ledger.clock,
    () => ledger.view(),
    () => waiting,
  );
  return runImport({
    rows,
    journal,
    categories: api.categories,
    lookAtOthers: () => otherImports(store, name),
    clock: context.clock,
    signal: context.signal,
    concurrency,
    maxRetries: options.maxRetries,
    timeoutMs: options.timeoutMs,
    skipExisting: input.skipExisting,
    onPlan: (plan) => confirmImport(job, plan),
    onProgress: (results) => progress.status?.(() => line(results)),
  });
}
