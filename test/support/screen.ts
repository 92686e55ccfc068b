// What a terminal shows after some output: a small emulator for the sequences that petstore and its packages write.
import stringWidth from 'string-width';

/**
 * Plays output on a screen.
 * @param output the bytes as text
 * @param columns width in cells
 * @param rows height; what scrolls out at the top is kept, as in a scrollback
 * @returns the lines, without trailing blanks
 * @throws Error for a control sequence that it does not know: nothing may reach a terminal unnoticed
 */
export function picture(output: string, columns: number, rows: number): string[] {
  const screen = new Screen(columns, rows);
  for (const [token] of output.matchAll(TOKENS)) screen.take(token);
  return screen.text();
}

const TOKENS = /\u001b\[[0-9;?]*[A-Za-z]|\u001b[^[]|[\u0000-\u001f]|[^\u0000-\u001f]+/g;
const segmenter = new Intl.Segmenter();

class Screen {
  readonly #columns: number;
  readonly #rows: number;
  readonly #lines: string[][] = [[]];
  #x = 0;
  #y = 0;

  constructor(columns: number, rows: number) {
    this.#columns = columns;
    this.#rows = rows;
  }

  take(token: string): void {
    if (token.startsWith('\u001b')) this.#control(token);
    else if (token === '\r') this.#x = 0;
    else if (token === '\n') this.#down();
    else if (token === '\b') this.#x = Math.max(0, this.#x - 1);
    else if (/^[\u0000-\u001f]/.test(token))
      throw new Error(`control character ${JSON.stringify(token)} on a terminal`);
    else for (const { segment } of segmenter.segment(token)) this.#put(segment);
  }

  text(): string[] {
    return this.#lines.map((line) => line.join('').trimEnd());
  }

  #put(character: string): void {
    const width = stringWidth(character);
    if (this.#x + width > this.#columns) {
      this.#x = 0;
      this.#down();
    }
    const line = this.#line();
    while (line.length < this.#x) line.push(' ');
    line[this.#x] = character;
    // The second cell of a wide character holds nothing of its own.
    if (width === 2) line[this.#x + 1] = '';
    this.#x += width;
  }

  #control(token: string): void {
    const [, text = '', letter = ''] = /^\u001b\[([0-9;?]*)([A-Za-z])$/.exec(token) ?? [];
    const count = Number(text || '1');
    if (letter === 'm' || /^\?(?:25|2026|2004)$/.test(text)) return;
    if (letter === 'A') this.#y = Math.max(this.#top(), this.#y - count);
    else if (letter === 'B') this.#y = Math.min(this.#lines.length - 1, this.#y + count);
    else if (letter === 'C') this.#x = Math.min(this.#columns - 1, this.#x + count);
    else if (letter === 'D') this.#x = Math.max(0, this.#x - count);
    else if (letter === 'G') this.#x = count - 1;
    else if (letter === 'K') this.#erase(text);
    else if (letter === 'J' && text !== '2' && text !== '3') this.#eraseBelow();
    else throw new Error(`control sequence ${JSON.stringify(token)} on a terminal`);
  }

  #erase(how: string): void {
    const line = this.#line();
    if (how === '2') line.length = 0;
    else if (how === '1') line.fill(' ', 0, this.#x + 1);
    else line.length = Math.min(line.length, this.#x);
  }

  #eraseBelow(): void {
    this.#erase('0');
    this.#lines.length = this.#y + 1;
  }

  #down(): void {
    this.#y++;
    if (this.#y >= this.#lines.length) this.#lines.push([]);
  }

  #line(): string[] {
    const line = this.#lines[this.#y] ?? [];
    this.#lines[this.#y] = line;
    return line;
  }

  #top(): number {
    return Math.max(0, this.#lines.length - this.#rows);
  }
}
