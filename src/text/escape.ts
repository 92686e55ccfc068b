// Makes text from outside safe to print: control, bidi and invisible characters become visible.

// Joiners are kept between letters, as Arabic and Indic scripts need, and between emoji; variation selectors of emoji
// are kept everywhere. An invisible letter (\p{DI}) joins nothing, since it is escaped itself.
const JOINED =
  /(?<=[\p{Lo}\p{M}])(?<!\p{DI})[\u200c\u200d](?!\p{DI})(?=\p{Lo})|(?<=\p{Extended_Pictographic}[\ufe0f\p{EMod}]?)\u200d(?=\p{Extended_Pictographic})|[\ufe0e\ufe0f]/u;
const UNSAFE = new RegExp(`(?!${JOINED.source})[\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\p{DI}\\ufff9-\\ufffb]`, 'gu');

/**
 * Makes unsafe characters visible; nothing is removed, and a second call changes nothing.
 * @param keep characters to leave unchanged, for example `\n`
 */
export function escapeControls(text: string, keep = ''): string {
  return text.replace(UNSAFE, (char) => {
    if (keep.includes(char)) return char;
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    return code === 0x7f ? '\u2421' : `<U+${hex(code).toUpperCase()}>`;
  });
}

/** Escapes the same characters in a JSON document, line breaks excepted; its value is unchanged. */
export function terminalSafeJson(json: string): string {
  return json.replace(UNSAFE, (char) => (char === '\n' ? char : char.split('').map(unicodeEscape).join('')));
}

function unicodeEscape(unit: string): string {
  return `\\u${hex(unit.charCodeAt(0))}`;
}

function hex(code: number): string {
  return code.toString(16).padStart(4, '0');
}
