// Makes text from outside safe to print: control, bidi and invisible characters become visible.

// C0, DEL, C1, soft hyphen, bidi marks and overrides, zero width, separators, variation selectors except for emoji, BOM,
// fillers, musical and shorthand controls, tags, lone surrogates.
const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164]|\u034f|[\u180b-\u180d\u180f]|[\ufe00-\ufe0d]|[\ufeff\uffa0\ufff0-\ufffb]|[\u{1bca0}-\u{1bca3}]|[\u{1d173}-\u{1d17a}]|[\u{e0000}-\u{e0fff}]|\p{Surrogate}/gu;
// Skips the replacement for plain text, the most common case.
const PLAIN = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff]*$/;
const PICTOGRAPH = /\p{Extended_Pictographic}/u;

/**
 * Makes control, bidi and zero-width characters visible; nothing is removed, and a second call changes nothing.
 * @param keep characters to leave unchanged, for example `\n`
 */
export function escapeControls(text: string, keep = ''): string {
  if (PLAIN.test(text)) return text;
  return text.replace(UNSAFE, (char, at: number) => {
    if (keep.includes(char)) return char;
    if (char === '\u200d' && joinsPictographs(text, at)) return char;
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return '\u2421';
    return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
  });
}

// A zero-width joiner between pictographs forms one emoji, such as a family.
function joinsPictographs(text: string, at: number): boolean {
  const before = Array.from(text.slice(Math.max(0, at - 4), at).replace(/[\ufe0f\u{1f3fb}-\u{1f3ff}]+$/u, '')).at(-1);
  const after = String.fromCodePoint(text.codePointAt(at + 1) ?? 0);
  return before !== undefined && PICTOGRAPH.test(before) && PICTOGRAPH.test(after);
}

// Unsafe characters that JSON allows unescaped; those above U+FFFF are matched as surrogate pairs.
const UNSAFE_IN_JSON =
  /[\u007f-\u009f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g;

/** Escapes control, bidi and invisible characters in a JSON document; its value is unchanged. */
export function terminalSafeJson(json: string): string {
  return json.replace(UNSAFE_IN_JSON, (found) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
      '',
    ),
  );
}
