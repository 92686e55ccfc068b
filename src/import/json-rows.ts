// Rows from JSON: an array of objects, or one object per line (NDJSON), read piece by piece.
import type { RowSink } from './validate-row.ts';
import { takeJson } from './validate-row.ts';

/** The longest row, in characters (fault E2). */
export const MAX_ROW = 1024 * 1024;

const TOO_LONG = 'a row is longer than 1 MB';

/**
 * Reads one JSON object per line; blank lines are passed over.
 * @param text the file in pieces
 * @param sink where the rows go
 * @throws PetstoreError `usage` where a line is longer than 1 MB
 */
export async function readNdjson(text: AsyncIterable<string>, sink: RowSink): Promise<void> {
  let rest = '';
  let line = 1;
  for await (const piece of text) {
    let from = 0;
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', from)) {
      const tail = piece.slice(from, end);
      takeLine(rest === '' ? tail : rest + tail, line++, sink);
      rest = '';
      from = end + 1;
    }
    rest += piece.slice(from);
    if (rest.length > MAX_ROW) throw sink.problems.fatal(line, TOO_LONG);
  }
  takeLine(rest, line, sink);
}

function takeLine(text: string, line: number, sink: RowSink): void {
  if (text.trim() !== '') takeSource(text, line, sink);
}

function takeSource(text: string, line: number, sink: RowSink): void {
  sink.seen++;
  if (text.length > MAX_ROW) {
    sink.problems.add(line, TOO_LONG, sink.seen);
    return;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the data.
    sink.problems.add(line, 'not valid JSON', sink.seen);
    return;
  }
  takeJson(value, line, sink);
}

/** What the scanner of an array is in the middle of. */
interface Scan {
  /** The element's text so far, from pieces that are gone. */
  rest: string;
  /** 0 before `[`, 1 between its brackets, 2 and more inside an element, -1 after `]`. */
  depth: number;
  inString: boolean;
  escaped: boolean;
  line: number;
  /** The line of the element's first character; 0 before it. */
  startLine: number;
  elements: number;
}

/**
 * Reads a JSON array of objects without holding more than one of them.
 * @param text the file in pieces
 * @param sink where the rows go
 * @throws PetstoreError `usage` where it is no array, or breaks off
 */
export async function readJsonArray(text: AsyncIterable<string>, sink: RowSink): Promise<void> {
  const scan: Scan = { rest: '', depth: 0, inString: false, escaped: false, line: 1, startLine: 0, elements: 0 };
  for await (const piece of text) {
    scanPiece(piece, scan, sink);
    if (scan.rest.length > MAX_ROW) throw sink.problems.fatal(scan.startLine || scan.line, TOO_LONG);
  }
  if (scan.depth >= 0) throw sink.problems.fatal(scan.line, 'the file ends before the array does');
}

function scanPiece(piece: string, scan: Scan, sink: RowSink): void {
  let from = 0;
  for (let at = 0; at < piece.length; at++) {
    const char = piece.charCodeAt(at);
    if (char === 0x0a) scan.line++;
    if (scan.inString) {
      if (scan.escaped) scan.escaped = false;
      else if (char === 0x5c) scan.escaped = true;
      else if (char === 0x22) scan.inString = false;
      continue;
    }
    if (char === 0x20 || char === 0x0a || char === 0x0d || char === 0x09) continue;
    if (scan.depth <= 0) {
      openArray(char, scan, sink);
      from = at + 1;
      continue;
    }
    if (scan.depth === 1 && (char === 0x2c || char === 0x5d)) {
      endElement(scan.rest + piece.slice(from, at), char === 0x5d, scan, sink);
      from = at + 1;
      continue;
    }
    if (scan.startLine === 0) scan.startLine = scan.line;
    if (char === 0x22) scan.inString = true;
    else if (char === 0x7b || char === 0x5b) scan.depth++;
    // A bracket too many ends in depth 1 and leaves the parser an element it refuses.
    else if ((char === 0x7d || char === 0x5d) && scan.depth > 1) scan.depth--;
  }
  scan.rest = scan.depth > 0 ? scan.rest + piece.slice(from) : '';
}

function openArray(char: number, scan: Scan, sink: RowSink): void {
  if (scan.depth < 0) throw sink.problems.fatal(scan.line, 'there is something after the array');
  if (char !== 0x5b) throw sink.problems.fatal(scan.line, 'expected an array of objects, [{"name": …}, …]');
  scan.depth = 1;
}

function endElement(source: string, last: boolean, scan: Scan, sink: RowSink): void {
  const line = scan.startLine || scan.line;
  const empty = scan.startLine === 0;
  scan.rest = '';
  scan.startLine = 0;
  if (last) scan.depth = -1;
  if (empty && last && scan.elements === 0) return;
  scan.elements++;
  if (empty) throw sink.problems.fatal(line, 'not valid JSON: a comma too many');
  takeSource(source, line, sink);
}
