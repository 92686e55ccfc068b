// How a help text is fitted to its stream: width, paragraphs, headings. Loaded with every command, so it imports nothing.

/**
 * @param columns of the stream; undefined or 0 where it has none
 * @returns the width of help in cells: never too narrow for an option, never too wide to read
 */
export function helpWidth(columns: number | undefined): number {
  return Math.max(40, Math.min(100, columns || 80));
}

/**
 * Fits the paragraphs of a help text to a width; what is indented (lists, examples) is left as it is.
 * @param text as written in a definition
 * @param width in cells; help texts are ASCII
 * @returns the same words
 */
export function reflow(text: string, width: number): string {
  return text.replace(/^\S.*(?:\n\S.*)*/gm, (paragraph) =>
    paragraph.includes('\n') || paragraph.length > width ? wrap(paragraph, width) : paragraph,
  );
}

/**
 * Breaks a text between words. What stands in backticks is to be copied: it stays in one line.
 * @param text one paragraph; its own line breaks count as blanks
 * @param width the most characters of a line; a longer word is left to the terminal
 * @returns lines without a line break at the end
 */
export function wrap(text: string, width: number): string {
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
 * @param text one paragraph
 * @param columns of the terminal; undefined: it stays one line
 * @param indent where its first line begins, in cells
 * @returns lines, those after the first indented
 */
export function hangingIndent(text: string, columns: number | undefined, indent: number): string {
  if (columns === undefined) return text;
  return wrap(text, Math.max(1, columns - indent)).replaceAll('\n', `\n${' '.repeat(indent)}`);
}

// A line of its own, or the first word of one of the paragraphs that every help text may have.
const HEADING = /^(?:[A-Z][\w ,-]*:$|(?:Usage|Output|Exit codes|Faults):(?= ))/gm;

/**
 * @param text a help text
 * @param color false: nothing is painted
 * @returns it with its headings in bold; written here, since chalk would double the time that help takes
 */
export function bold(text: string, color: boolean): string {
  return color ? text.replace(HEADING, (heading) => `\u001b[1m${heading}\u001b[22m`) : text;
}
