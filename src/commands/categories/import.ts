// `petstore categories import`: a file's rows, checked, journaled, created exactly once each.
import type { Session } from '../../context.ts';
import { formatDuration } from '../../duration.ts';
import { PetstoreError } from '../../errors.ts';
import { estimate } from '../../import/estimate.ts';
import type { JournalOptions } from '../../import/journal.ts';
import { Journal, peekJournal, unfinishedOf } from '../../import/journal.ts';
import type { RowEntry } from '../../import/journal-state.ts';
import { commandToGoOn, outcomeOf } from '../../import/outcome.ts';
import { followPace } from '../../import/pace.ts';
import type { Preview } from '../../import/preview.ts';
import { previewOf } from '../../import/preview.ts';
import type { RowStore } from '../../import/row-store.ts';
import { readRows } from '../../import/rows.ts';
import type { RunResult } from '../../import/run.ts';
import { runImport } from '../../import/run.ts';
import type { Source } from '../../import/source.ts';
import { openSource } from '../../import/source.ts';
import type { ImportDocument } from '../../import/tally.ts';
import type { Plan } from '../../import/work.ts';
import type { View } from '../../output/view.ts';
import { visible } from '../../text.ts';
import { importView } from './import-view.ts';

/** What the command takes. */
export interface ImportInput {
  /** A path, or `-` for stdin. */
  readonly file: string;
  readonly delimiter: string | undefined;
  readonly ignoreExtra: boolean;
  readonly skipExisting: boolean;
  readonly dryRun: boolean;
  readonly yes: boolean;
  /** As typed. */
  readonly concurrency: string;
  readonly restart: boolean;
}

/** What became of every row, and why that is a failure, if it is; or what would become of them. */
export type ImportData = { readonly document: ImportDocument; readonly failure: PetstoreError | undefined } | Preview;

/** The document, or the preview. */
export const view: View<ImportData> = importView;

/** The file, read, and where it is to go. */
interface Job {
  readonly session: Session;
  readonly input: ImportInput;
  readonly source: Source;
  readonly rows: RowStore;
  readonly journal: JournalOptions;
  readonly concurrency: number;
}

const MOST_AT_ONCE = 64;

/**
 * @param session the open session
 * @param input the file and the options
 * @returns what became of every row, once anything was sent; with `--dry-run` what would be created
 * @throws PetstoreError `usage` for a bad file, a file that was changed in the middle of its import, and a second run of
 *   the same import; `storage` where the journal cannot be used; else as the api does, where nothing was created
 */
export async function run(session: Session, input: ImportInput): Promise<ImportData> {
  const job = await prepare(session, input);
  if (input.dryRun) return preview(job);
  const noted = input.restart ? new Map<number, RowEntry>() : peekJournal(job.journal);
  await ask(job, noted);
  const journal = new Journal(job.journal);
  try {
    journal.take({ version: 1, source: job.source.path, rows: job.rows.count }, input.restart);
    return await finish(job, await send(job, journal));
  } finally {
    // The next run finds out by itself that this one has ended.
    await journal.close().catch(() => undefined);
  }
}

/**
 * @param data what `run` returned
 * @returns why the command fails although it printed a document
 */
export function outcome(data: ImportData): PetstoreError | undefined {
  return 'document' in data ? data.failure : undefined;
}

async function prepare(session: Session, input: ImportInput): Promise<Job> {
  const { context } = session;
  const concurrency = Number(input.concurrency);
  if (!/^\d{1,3}$/.test(input.concurrency) || concurrency < 1 || concurrency > MOST_AT_ONCE) {
    throw new PetstoreError('usage', `--concurrency takes a whole number from 1 to ${MOST_AT_ONCE}`, {
      hint: 'for example --concurrency 8',
    });
  }
  const source = await openSource(input.file, context);
  const rows = await readRows(source, input);
  const { identity } = await session.target();
  const journal = { stateDir: session.stateDir, identity, digest: rows.digest(), clock: context.clock };
  if (!input.restart && !input.skipExisting && source.path !== undefined) refuseChanged(journal, source.path);
  return { session, input, source, rows, journal, concurrency };
}

function refuseChanged(journal: JournalOptions, path: string): void {
  const before = unfinishedOf(journal, path);
  if (!before) return;
  const done = `${before.created} of its ${before.rows} rows were created`;
  throw new PetstoreError('usage', `the file has changed since its import began: ${done}`, {
    hint: 'put it back to go on; or add --skip-existing to create what is missing, or --restart to create every row',
  });
}

async function preview({ session, input, rows, journal }: Job): Promise<Preview> {
  const noted = input.restart ? new Map<number, RowEntry>() : peekJournal(journal);
  const listed = await (await session.api()).categories.list();
  const quota = (await session.ledger()).view();
  return previewOf(rows, noted, listed, { skipExisting: input.skipExisting, quota, now: session.context.clock.now() });
}

// Only where somebody is there to answer: with the rows on stdin there is nothing left to answer through.
async function ask({ session, input, rows }: Job, noted: ReadonlyMap<number, RowEntry>): Promise<void> {
  const { context } = session;
  const target = await session.target();
  const created = [...noted.values()].filter(({ status }) => status === 'created').length;
  if (created > 0) {
    const rest = rows.count - created;
    await session.notice(
      `${created} of ${rows.count} rows were created by an earlier run, ${rest} are left (--restart forgets that)`,
    );
  }
  if (created === rows.count || input.yes || target.keySource === 'sandbox') return;
  if (!context.stdin.isTTY || !context.stderr.isTTY) return;
  const { askYesNo } = await import('../../output/prompt.ts');
  const most = input.skipExisting ? 'up to ' : '';
  const question = `Create ${most}${rows.count - created} categories in profile ${target.profile} (${target.baseUrl})?`;
  if (!(await askYesNo(context, visible(question)))) {
    throw new PetstoreError('interrupted', 'nothing was imported', { hint: 'the answer was no' });
  }
}

async function send({ session, input, rows, concurrency }: Job, journal: Journal): Promise<RunResult> {
  const { context, globals } = session;
  const [api, ledger] = await Promise.all([session.api(), session.ledger()]);
  const pace = followPace(rows.count, context.clock, () => ledger.view());
  return runImport({
    rows,
    journal,
    categories: api.categories,
    clock: context.clock,
    signal: context.signal,
    concurrency,
    maxRetries: globals.maxRetries,
    skipExisting: input.skipExisting,
    onPlan: (plan) => announce(session, rows, plan),
    onProgress: (tally) => {
      const line = pace(tally);
      if (line !== undefined) session.watch.say?.(line);
    },
  });
}

// What is better known before the first row goes than after the last.
async function announce(session: Session, rows: RowStore, plan: Plan): Promise<void> {
  const { clock } = session.context;
  const now = clock.now();
  const { daily, endsAt } = estimate(plan.send, (await session.ledger()).view(), now);
  if (daily && endsAt !== undefined) {
    const days = `${daily.left} of ${daily.limit} requests of the day are left`;
    await session.notice(
      `the day's quota does not last for ${plan.send} rows: ${days}; it takes at least ${formatDuration(endsAt - now)}`,
    );
  }
  const repeated = plan.send > 0 ? rows.repeatedNames() : 0;
  if (repeated === 1) await session.notice('1 row repeats a name of the file; each is created');
  if (repeated > 1) await session.notice(`${repeated} rows repeat a name of the file; each is created`);
  const { existing } = plan;
  if (existing === 1) {
    await session.notice('1 row has a name that exists already; it is created too (--skip-existing leaves it out)');
  } else if (existing > 1) {
    await session.notice(
      `${existing} rows have a name that exists already; they are created too (--skip-existing leaves them out)`,
    );
  }
}

async function finish({ session, source }: Job, result: RunResult): Promise<ImportData> {
  for (const { id, name } of result.surplus) {
    const why = 'its row was sent again after its first request seemed lost, and both seem to have arrived';
    await session.warn(`category ${id} ${visible(JSON.stringify(name))} may be one too many: ${why}`);
  }
  const document = result.tally.document();
  const goOn = commandToGoOn(session.context.args, source.path === undefined);
  return { document, failure: outcomeOf(document, result.stop, goOn) };
}
