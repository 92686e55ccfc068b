// Makes text from outside safe to print: control, bidi and invisible characters become visible.

const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{DI}\ufff9-\ufffb]/gu;
const VARIATION_SELECTOR = /[\ufe0e\ufe0f]/;
const ZERO_WIDTH_JOINER = '\u200d';
const ZERO_WIDTH_NON_JOINER = '\u200c';

/**
 * Makes unsafe characters visible; nothing is removed, and a second call changes nothing.
 * @param keep characters to leave unchanged, for example `\n`
 */
export function escapeControls(text: string, keep = ''): string {
  return replaceUnsafe(text, keep, (char) => {
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    return code === 0x7f ? '\u2421' : `<U+${hex(code).toUpperCase()}>`;
  });
}

/** Escapes the same characters in a JSON document, line breaks excepted; its value is unchanged. */
export function terminalSafeJson(json: string): string {
  // Without the flag u, a dot matches one UTF-16 unit.
  return replaceUnsafe(json, '\n', (char) => char.replace(/./gs, (unit) => `\\u${hex(unit.charCodeAt(0))}`));
}

function replaceUnsafe(text: string, keep: string, format: (char: string) => string): string {
  return text.replace(UNSAFE, (char, at: number) => {
    return keep.includes(char) || isShaping(text, at) ? char : format(char);
  });
}

/** Whether the invisible character only shapes the visible ones around it, as some scripts and emoji need. */
function isShaping(text: string, at: number): boolean {
  const char = text.charAt(at);
  if (VARIATION_SELECTOR.test(char)) return true;
  if (char !== ZERO_WIDTH_JOINER && char !== ZERO_WIDTH_NON_JOINER) return false;
  // Long enough for an emoji with its modifier, two UTF-16 units each.
  const before = text.slice(Math.max(0, at - 4), at);
  const after = text.slice(at + 1, at + 3);
  // Arabic and Indic scripts need joiners between letters; an invisible letter (\p{DI}) is escaped itself.
  if (/[\p{Lo}\p{M}]$/u.test(before) && /^\p{Lo}/u.test(after))
    return !/\p{DI}$/u.test(before) && !/^\p{DI}/u.test(after);
  if (char === ZERO_WIDTH_NON_JOINER) return false;
  // Node.js 26 does not match a class of both alternatives before the end of the text.
  return /\p{Extended_Pictographic}(?:\ufe0f|\p{EMod})?$/u.test(before) && /^\p{Extended_Pictographic}/u.test(after);
}

function hex(code: number): string {
  return code.toString(16).padStart(4, '0');
}
