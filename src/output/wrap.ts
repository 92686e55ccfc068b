// Breaks lines between words, for messages, help and tables. Loaded with every command, so it imports nothing.

type Measure = (text: string) => number;

/**
 * Breaks a text between words, except inside backquotes, so that a command can be copied.
 * @param width the maximum width of a line in cells; if 0 or undefined, the text is not broken
 * @param measure returns the width of a text; without it, words longer than a line are left to the terminal
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
      const part = longestPrefix(line, width, measure);
      lines.push(part);
      line = line.slice(part.length);
    }
  }
  return [...lines, line].join('\n');
}

/** Wraps paragraphs, and the definitions in a list of terms; other indented lines are kept. */
export function wrapParagraphs(text: string, width: number | undefined): string {
  if (!width) return text;
  return text
    .replace(/^\S.*(?:\n\S.*)*/gm, (paragraph) => wrap(paragraph, width))
    .replace(
      /^( +[\w-]+(?:, \w+)* {2,})(\S.*)$/gm,
      (_, term: string, meaning: string) => term + hangingIndent(meaning, width, term.length),
    );
}

/** The longest prefix of a text that fits into a width; at least one character. */
export function longestPrefix(text: string, width: number, measure: Measure): string {
  let part = '';
  for (const char of text) {
    if (part !== '' && measure(part + char) > width) break;
    part += char;
  }
  return part;
}

/**
 * Wraps a text that starts at the column `indent`, and indents its other lines to that column.
 * @param columns the terminal's width; if undefined, the text stays on one line
 */
export function hangingIndent(text: string, columns: number | undefined, indent: number): string {
  if (columns === undefined) return text;
  return wrap(text, Math.max(1, columns - indent)).replaceAll('\n', `\n${' '.repeat(indent)}`);
}
