// The screen of a terminal emulator (xterm) after some output.
import xterm from '@xterm/headless';

// The control sequences that petstore and its packages may write to a terminal.
const KNOWN = /\u001b\[(?:[\d;]*m|\?(?:25|2004|2026)[hl]|\d*[ABCDGKJ])|[\r\n\b]/g;

/**
 * @param columns width in cells
 * @returns the lines with those that scrolled out, without trailing blanks
 */
export async function picture(output: string, columns: number, rows: number): Promise<string[]> {
  const unknown = /[\u0000-\u001f].{0,8}/.exec(output.replace(KNOWN, ''));
  if (unknown) throw new Error(`unexpected control sequence ${JSON.stringify(unknown[0])} on a terminal`);
  const terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true });
  await new Promise<void>((written) => terminal.write(output, written));
  const { active } = terminal.buffer;
  return Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? '');
}
