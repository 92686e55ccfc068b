// Prepares an import: reads and checks the file, and finds its journal.
import type { NewCategory } from '../../api/types.ts';
import { PetstoreError } from '../../errors.ts';
import { formatCount, formatNumber } from '../../format.ts';
import type { JournalStore } from '../../import/journal-files.ts';
import { journalName } from '../../import/journal-files.ts';
import { staleImportOf } from '../../import/other-journals.ts';
import type { InputFile } from '../../import/rows.ts';
import { digestOf, readInputFile, readRows } from '../../import/rows.ts';
import type { Session } from '../../session.ts';

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

export interface Job {
  readonly session: Session;
  readonly input: ImportInput;
  readonly source: InputFile;
  readonly rows: readonly NewCategory[];
  readonly store: JournalStore;
  /** The journal's name in the store. */
  readonly name: string;
  readonly concurrency: number;
}

const MAX_CONCURRENCY = 64;

/**
 * Checks everything that can be checked before anything is sent.
 * @throws PetstoreError `usage` for an invalid option or file, and a file that was changed during its import; `auth`
 *   without a key
 */
export async function prepare(session: Session, input: ImportInput): Promise<Job> {
  const { context } = session;
  const concurrency = Number(input.concurrency);
  if (!/^\d{1,3}$/.test(input.concurrency) || concurrency < 1 || concurrency > MAX_CONCURRENCY) {
    throw new PetstoreError('usage', `--concurrency must be a whole number from 1 to ${MAX_CONCURRENCY}`, {
      hint: 'for example --concurrency 8',
    });
  }
  await requireYes(session, input);
  const source = await readInputFile(input.file, context);
  const rows = await readRows(source, input);
  const { openJournals } = await import('../../session-services.ts');
  const store = await openJournals(session, await session.target());
  const name = journalName(digestOf(rows));
  if (!input.restart && !input.skipExisting && source.id !== undefined) await refuseChanged(store, name, source.id);
  return { session, input, source, rows, store, name, concurrency };
}

// Rows from a pipe leave no stdin to answer the question, where somebody may be watching.
async function requireYes(session: Session, input: ImportInput): Promise<void> {
  if (input.file !== '-' || input.yes || input.dryRun || !session.context.stderr.isTTY) return;
  if ((await session.target()).keySource === 'sandbox') return;
  throw new PetstoreError('usage', 'cannot ask for confirmation while the rows come from a pipe', {
    hint: 'add --yes to import them, or --dry-run to preview',
  });
}

async function refuseChanged(store: JournalStore, name: string, source: string): Promise<void> {
  const before = await staleImportOf(store, name, source);
  if (!before) return;
  const done = `${formatNumber(before.created)} of its ${formatCount(before.rows, 'row')} were created`;
  throw new PetstoreError('usage', `the file has changed since its import began: ${done}`, {
    hint: 'restore it to resume, or add --skip-existing to create what is missing, or --restart to create every row',
  });
}
