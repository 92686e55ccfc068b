// `petstore categories import`: creates the categories of a file that do not exist yet.
import { withoutKeys } from '../../../api/calls.ts';
import { PetstoreError } from '../../../errors.ts';
import { importCategories, pauseOf } from '../../../import/import-categories.ts';
import { fetchFirstList } from '../../../import/list.ts';
import { ImportResults } from '../../../import/results.ts';
import { rowWarnings } from '../../../import/row-warnings.ts';
import type { NewCategory } from '../../../public-types.ts';
import { checkWholeNumber } from '../../../settings/check-options.ts';
import { stateDir } from '../../../settings/paths.ts';
import type { ProcessRef } from '../../../shared-log/process-liveness.ts';
import { escapeControls } from '../../../text/escape.ts';
import { formatCount } from '../../../text/format.ts';
import type { Action } from '../../command.ts';
import type { RowOptions } from '../../rows/rows.ts';
import { readInputFile, readRows } from '../../rows/rows.ts';
import type { Session } from '../../session.ts';
import { estimateDuration, formatEstimate, progressLineFormatter } from './import-progress.ts';
import type { Done, ImportData, Preview } from './import-view.ts';
import { importView } from './import-view.ts';

interface ImportCommandOptions extends RowOptions {
  readonly dryRun?: true;
  readonly yes?: true;
  readonly concurrency: string;
}

export const importAction: Action<ImportCommandOptions, ImportData> = {
  async run(session, options, file = '-') {
    const { context, progress, warn } = session;
    const concurrency = checkWholeNumber(options.concurrency, '--concurrency', 1, 64);
    const input = await readInputFile(file, context);
    const rows = await readRows(input, options);
    if (rows.length === 0) await warn(`${input.label} has no rows`);
    for (const warning of rowWarnings(rows)) await warn(warning);
    if (options.dryRun) return preview(session, rows);
    // The prompt comes before the lock, so that an open prompt does not block other imports.
    if (!options.yes) await confirm(session, rows, file);
    const { document, failure } = await create(session, rows, concurrency);
    progress.status(undefined);
    return { document: withoutKeys(document, context.redactor), failure };
  },
  view: importView,
};

async function create(session: Session, rows: readonly NewCategory[], concurrency: number): Promise<Done> {
  const { context, progress, options } = session;
  const { clock, signal } = context;
  const { baseUrl } = await session.target();
  const service = await session.service();
  const lockPlace = (await service.stateServer()) ?? stateDir(context);
  const [categories, ledger] = await Promise.all([service.categories(), service.ledger()]);
  const line = progressLineFormatter(clock);
  try {
    const document = await importCategories({
      ...{ categories, rows, target: baseUrl, lockPlace, clock, signal, concurrency },
      maxRetries: options.maxRetries,
      timeoutMs: options.timeout,
      onProgress: (counts) =>
        progress.status((room) => line({ counts, quota: ledger.quota(), isWaiting: progress.isWaiting, room })),
      onPause: (pause) => progress.wait(pause),
      warn(text) {
        progress.status(undefined);
        void session.warn(text);
      },
      onBusy: (holder) => void notifyHolder(session, holder),
    });
    return { document, failure: undefined };
  } catch (error) {
    if (!(error instanceof PetstoreError) || !error.document) throw error;
    return { document: error.document, failure: error };
  }
}

async function notifyHolder({ context, options, notice }: Session, { pid, host }: ProcessRef): Promise<void> {
  const machine = host.split(' ')[0] ?? '';
  const waiting = { reason: 'import', pid, host: machine };
  if (options.json && !options.quiet) await context.stderr.write(`${JSON.stringify({ waiting })}\n`);
  await notice(`waiting for another import to finish (PID ${pid} on ${machine})`);
}

async function preview(session: Session, rows: readonly NewCategory[]): Promise<Preview> {
  const { context, progress } = session;
  const categories = await session.categories();
  const pause = pauseOf({ ...context, onPause: (wait) => progress.wait(wait) });
  const listed = await fetchFirstList({ categories, pause });
  const ledger = await session.ledger();
  await ledger.refresh();
  const results = new ImportResults(rows);
  for (const category of listed) {
    const entry = results.get(category.name);
    if (entry && !entry.outcome) results.set(entry, { state: 'skipped', category });
  }
  const toCreate = results.in(undefined).map(({ row }) => row);
  const { skipped } = results.document();
  return {
    dryRun: true,
    toCreate,
    skipped,
    estimate: estimateDuration(toCreate.length, ledger.quota(), context.clock.now()),
  };
}

// Asks for confirmation on a terminal, with the figures of a dry run.
async function confirm(session: Session, rows: readonly NewCategory[], file: string): Promise<void> {
  const { env, stdin, stderr } = session.context;
  const { baseUrl, keySource, profile, urlSource } = await session.target();
  if (env['CI'] || !stderr.isTTY || keySource === 'sandbox') return;
  if (file === '-') {
    // If the rows come from stdin, a prompt cannot read an answer.
    const hint = 'use --yes to skip confirmation';
    throw new PetstoreError('usage', 'cannot prompt for confirmation: stdin is not a terminal', { hint });
  }
  if (!stdin.isTTY) return;
  const { toCreate, estimate } = await preview(session, rows);
  if (toCreate.length === 0) return;
  const { askYesNo } = await import('../../output/prompt.ts');
  const what = formatCount(toCreate.length, 'category', 'categories');
  const from = urlSource === 'environment' ? '' : `profile "${profile}", `;
  const question = `Create ${what} at ${baseUrl} (${from}estimated time: ${formatEstimate(estimate)})?`;
  if (await askYesNo(session.context, escapeControls(question))) return;
  await session.context.stderr.write('Nothing was created\n');
  throw new PetstoreError('interrupted', 'canceled', { silent: true });
}
