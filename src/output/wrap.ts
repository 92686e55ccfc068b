// Breaks lines between words, for messages, help and tables. Loaded with every command, so it imports nothing.

type Measure = (text: string) => number;

/**
 * Breaks a text between words, except inside backquotes, so that a command can be copied.
 * @param width the most cells of a line; 0 or undefined: nothing is broken
 * @param measure a text's width; a longer word is broken only if it is given, otherwise that is left to the terminal
 */
export function wrap(text: string, width: number | undefined, measure?: Measure): string {
  if (!width) return text;
  const cells = measure ?? ((word: string): number => word.length);
  const lines: string[] = [];
  let line = '';
  const words = text.match(/(?:`[^`]*`|\S)+/g) ?? [];
  for (const word of words.flatMap((one) => (cells(one) > width ? one.split(/\s+/) : one))) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (cells(longer) <= width) {
      line = longer;
      continue;
    }
    if (line !== '') lines.push(line);
    line = word;
    while (measure && measure(line) > width) {
      const part = fitting(line, width, measure);
      lines.push(part);
      line = line.slice(part.length);
    }
  }
  return [...lines, line].join('\n');
}

/** Wraps the paragraphs of a text, and the meanings in a list of terms; other indented lines are kept. */
export function wrapParagraphs(text: string, width: number | undefined): string {
  if (!width) return text;
  return text
    .replace(/^\S.*(?:\n\S.*)*/gm, (paragraph) => wrap(paragraph, width))
    .replace(
      /^( +[\w-]+(?:, \w+)* {2,})(\S.*)$/gm,
      (_, term: string, meaning: string) => term + hangingIndent(meaning, width, term.length),
    );
}

/** The longest beginning of a text that fits into a width; at least one character. */
export function fitting(text: string, width: number, measure: Measure): string {
  let part = '';
  for (const char of text) {
    if (part !== '' && measure(part + char) > width) break;
    part += char;
  }
  return part;
}

/**
 * Breaks a text beside a name, so that its further lines are aligned with its first.
 * @param columns of the terminal; undefined: it stays one line
 */
export function hangingIndent(text: string, columns: number | undefined, indent: number): string {
  if (columns === undefined) return text;
  return wrap(text, Math.max(1, columns - indent)).replaceAll('\n', `\n${' '.repeat(indent)}`);
}
