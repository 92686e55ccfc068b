// Breaks lines between words, for errors, notices and lists. Loaded with every command, so it imports nothing.

/**
 * Breaks a text between words. What stands in backticks is to be copied: it stays in one line.
 * @param width the most characters of a line; a longer word is left to the terminal. 0 or undefined: nothing is broken
 */
export function wrap(text: string, width: number | undefined): string {
  if (!width) return text;
  const lines: string[] = [];
  let line = '';
  const words = text.match(/(?:`[^`]*`|\S)+/g) ?? [];
  for (const word of words.flatMap((one) => (one.length > width ? one.split(/\s+/) : one))) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join('\n');
}

/**
 * Breaks a text that stands beside a name, so that its further lines stand below its first.
 * @param columns of the terminal; undefined: it stays one line
 */
export function hangingIndent(text: string, columns: number | undefined, indent: number): string {
  if (columns === undefined) return text;
  return wrap(text, Math.max(1, columns - indent)).replaceAll('\n', `\n${' '.repeat(indent)}`);
}
