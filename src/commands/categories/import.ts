// `petstore categories import`: a file's rows, checked, journaled, created exactly once each.

import type { PetstoreError } from '../../errors.ts';
import { importError, resumeCommand } from '../../import/import-error.ts';
import { Journal } from '../../import/journal.ts';
import type { RowEntry } from '../../import/journal-state.ts';
import { ownedElsewhere, readJournal, supersede } from '../../import/other-journals.ts';
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
  const noted = input.restart ? new Map<number, RowEntry>() : readJournal(job.journal);
  if (input.dryRun) return preview(job, noted);
  await confirmImport(job, noted);
  const journal = new Journal(job.journal);
  try {
    journal.take({ version: 1, source: job.source.path, rows: job.rows.length }, input.restart);
    if (job.source.path !== undefined) supersede(job.journal, job.source.path);
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
  const quota = (await session.ledger()).view();
  return previewOf(rows, noted, listed, { skipExisting: input.skipExisting, quota, now: session.context.clock.now() });
}

async function send(job: Job, journal: Journal): Promise<RunResult> {
  const { session, input, rows, concurrency } = job;
  const { context, options } = session;
  const [api, ledger, sender] = await Promise.all([session.api(), session.ledger(), session.httpClient()]);
  const pace = startProgressLine(rows.length, context.clock, () => ledger.view());
  return runImport({
    rows,
    journal,
    categories: api.categories,
    expect: (ahead) => sender.expect(ahead),
    ownedElsewhere: () => ownedElsewhere(job.journal),
    clock: context.clock,
    signal: context.signal,
    concurrency,
    maxRetries: options.maxRetries,
    timeoutMs: options.timeoutMs,
    skipExisting: input.skipExisting,
    onPlan: (plan) => announce(job, plan),
    // Made anew whenever it is painted: through a long wait it must not tell of the moment before.
    onProgress: (tally) => session.progress.status?.(() => pace(tally)),
  });
}

async function finish({ session, source }: Job, result: RunResult): Promise<ImportData> {
  session.progress.status?.(undefined);
  const document = result.tally.document();
  const goOn = resumeCommand(session.context, source.path === undefined);
  return { document, failure: importError(document, result, goOn) };
}
