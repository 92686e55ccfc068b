// Any supported file to checked rows: finds out the format, decodes, reads every row before anything is sent.
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { decodedText } from './decode-utf8.ts';
import type { InputFile } from './input-file.ts';
import { readJsonArray, readNdjson } from './json-rows.ts';
import { RowStore } from './row-store.ts';
import { ValidationErrors } from './validation-errors.ts';

/** How rows are to be read. */
export interface RowOptions {
  /** What separates the fields, as typed; makes the file a delimited one whatever its name. */
  readonly delimiter: string | undefined;
  readonly ignoreExtra: boolean;
  /** Where rows go that are too many for memory; without it all of them stay there. */
  readonly tempDir?: string | undefined;
}

type Kind = 'json' | 'ndjson' | { readonly delimiter: string };

const BY_EXTENSION: Readonly<Record<string, Kind>> = {
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.csv': { delimiter: ',' },
  '.tsv': { delimiter: '\t' },
  '.tab': { delimiter: '\t' },
};

/**
 * Reads and checks a whole file (contract, section 7).
 * @param source where the bytes come from
 * @param options delimiter and strictness
 * @returns the rows; none of an empty list
 * @throws PetstoreError `usage` naming every bad row with its line, the first twenty in full
 */
export async function readRows(source: InputFile, options: RowOptions): Promise<RowStore> {
  const given = options.delimiter === undefined ? undefined : { delimiter: delimiterOf(options.delimiter) };
  const problems = new ValidationErrors(source.label);
  const sink = { rows: new RowStore(options.tempDir), problems, ignoreExtra: options.ignoreExtra, seen: 0 };
  const { head, text } = await peek(decodedText(source.bytes, problems));
  const kind = given ?? BY_EXTENSION[source.extension] ?? sniff(head);
  if (kind === 'json') await readJsonArray(text, sink);
  else if (kind === 'ndjson') await readNdjson(text, sink);
  else await (await import('./csv-rows.ts')).readDelimited(text, kind.delimiter, sink);
  problems.check();
  // `[]` or a header alone is an empty list; nothing at all means that what was to print one failed.
  if (sink.rows.count === 0 && head.trim() === '') {
    const hint = 'expected a JSON array, one JSON object per line, or CSV or TSV with a header';
    throw new PetstoreError('usage', `${escapeControls(source.label)} holds no rows`, { hint });
  }
  return sink.rows;
}

function delimiterOf(typed: string): string {
  const named: Readonly<Record<string, string>> = { tab: '\t', '\\t': '\t', comma: ',', semicolon: ';', pipe: '|' };
  const delimiter = named[typed.toLowerCase()] ?? typed;
  if ([...delimiter].length === 1 && !/["\r\n\p{Surrogate}\ufeff]/u.test(delimiter)) return delimiter;
  throw new PetstoreError('usage', '--delimiter takes one character', {
    hint: 'for example --delimiter ";" or --delimiter tab',
  });
}

/** How much is looked at to find the first line, in characters. */
const MAX_HEAD = 65_536;

// The first line tells the format; it is then read again with the rest.
async function peek(text: AsyncGenerator<string>): Promise<{ head: string; text: AsyncIterable<string> }> {
  let head = '';
  let ended = false;
  while (!ended && head.length < MAX_HEAD && !head.trimStart().includes('\n')) {
    const next = await text.next();
    if (next.done) ended = true;
    else head += next.value;
  }
  async function* again(): AsyncGenerator<string> {
    if (head !== '') yield head;
    if (!ended) yield* text;
  }
  return { head, text: again() };
}

function sniff(head: string): Kind {
  const start = head.trimStart();
  if (start.startsWith('[')) return 'json';
  // Blank throughout: read as NDJSON it holds no rows.
  if (start === '' || start.startsWith('{')) return 'ndjson';
  return { delimiter: (start.split('\n', 1)[0] ?? '').includes('\t') ? '\t' : ',' };
}
