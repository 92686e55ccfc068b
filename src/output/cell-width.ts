// How wide text is on a terminal, in cells, and how to cut it to a width. The only place that knows string-width.
import stringWidth from 'string-width';

// Letters whose width needs no segmenter, which is a hundred times faster: these take one cell each …
const SIMPLE =
  /^[\x20-\x7e\u00a0-\u00ac\u00ae-\u02ff\u0391-\u03a1\u03a3-\u03ff\u0400-\u0482\u2010-\u2027\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]*$/;
// … and of those, these take two (Hiragana, Katakana, Han, Hangul syllables).
const WIDE = /[\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]/g;
const ASCII = /^[\x20-\x7e]*$/;

let segmenter: Intl.Segmenter | undefined;

// Made when first needed: it costs every table several milliseconds.
function segments(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter();
  return segmenter.segment(text);
}

/** Measures text as a terminal shows it: CJK and emoji take two cells, combining characters none. */
export function cellWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  if (SIMPLE.test(text)) return text.length + (text.match(WIDE)?.length ?? 0);
  let width = 0;
  for (let from = 0; from < text.length; ) {
    const end = pieceEnd(text, from);
    width += stringWidth(text.slice(from, end));
    from = end;
  }
  return width;
}

// The segmenter's time grows with the square of the length (70 s for 256,000 characters): long text is measured in
// pieces, each ending before a letter that begins a character of its own.
const PIECE = 500;
const LONGEST_PIECE = 1000;
const LETTER = /[\x20-\x7e\u4e00-\u9fff]/;

function pieceEnd(text: string, from: number): number {
  if (text.length - from <= LONGEST_PIECE) return text.length;
  let end = from + PIECE;
  while (end < from + LONGEST_PIECE && !LETTER.test(text.charAt(end))) end++;
  return end;
}

/** Cuts text to a width in cells, between characters as readers see them, and marks the cut with `…`. */
export function truncate(text: string, width: number): string {
  if (width <= 0) return '';
  if (text.length <= width && ASCII.test(text)) return text;
  // More than this cannot be visible: only a flood of combining characters is cut here.
  const head = text.slice(0, width * 32 + 64);
  if (head.length === text.length && cellWidth(text) <= width) return text;
  if (ASCII.test(head)) return `${text.slice(0, width - 1)}…`;
  let used = 0;
  let kept = '';
  for (const { segment } of segments(head)) {
    const cells = stringWidth(segment);
    if (used + cells > width - 1) break;
    used += cells;
    kept += segment;
  }
  // The cut above may have split a pair of surrogates.
  return `${kept.replace(/\p{Surrogate}$/u, '')}…`;
}

export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const gap = ' '.repeat(Math.max(0, width - cellWidth(text)));
  return align === 'right' ? gap + text : text + gap;
}

/**
 * Breaks text between words, and words that are wider than a line between characters.
 * @param text without control characters but line breaks, which are kept
 */
export function wrapCells(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const paragraph of text.split('\n')) {
    let line = '';
    for (const word of paragraph.split(' ').flatMap((each) => chunks(each, width))) {
      if (line !== '' && cellWidth(line) + 1 + cellWidth(word) > width) {
        lines.push(line);
        line = word;
      } else line = line === '' ? word : `${line} ${word}`;
    }
    lines.push(line);
  }
  return lines;
}

function chunks(word: string, width: number): readonly string[] {
  if (cellWidth(word) <= width) return [word];
  const pieces = [''];
  for (const { segment } of segments(word)) {
    if (cellWidth((pieces.at(-1) ?? '') + segment) <= width) pieces[pieces.length - 1] += segment;
    else pieces.push(segment);
  }
  return pieces;
}
