// Text from outside made safe to show: control, bidi and invisible characters become visible, a secret is cut out.

// What a terminal could act on, or a reader could not see: C0, DEL, C1, soft hyphen, bidi marks and overrides, zero width,
// separators, variation selectors but for emoji, BOM, fillers, musical and shorthand controls, tags, lone surrogates.
const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164]|\u034f|[\u180b-\u180d\u180f]|[\ufe00-\ufe0d]|[\ufeff\uffa0\ufff0-\ufffb]|[\u{1bca0}-\u{1bca3}]|[\u{1d173}-\u{1d17a}]|[\u{e0000}-\u{e0fff}]|\p{Surrogate}/gu;
// Nearly all text is this, and needs no closer look.
const PLAIN = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff]*$/;
const PICTOGRAPH = /\p{Extended_Pictographic}/u;

/**
 * Makes every character that could act on a terminal visible; it replaces and never strips, so nothing is hidden.
 * @param text anything that came from outside: the service, a file, an argument
 * @param keep characters to let through as they are, for example `\n` in a message of several lines
 * @returns text without C0, C1, bidi and zero-width characters; idempotent
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

// A zero-width joiner between two pictographs is part of one emoji (family, professions): it stays.
function joinsPictographs(text: string, at: number): boolean {
  const before = Array.from(text.slice(Math.max(0, at - 4), at).replace(/[\ufe0f\u{1f3fb}-\u{1f3ff}]+$/u, '')).at(-1);
  const after = String.fromCodePoint(text.codePointAt(at + 1) ?? 0);
  return before !== undefined && PICTOGRAPH.test(before) && PICTOGRAPH.test(after);
}

// The same of what JSON may hold raw; it sits in strings only, where an escape means the same. A tag is a surrogate pair.
const UNSAFE_IN_JSON =
  /[\u007f-\u009f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g;

/**
 * Escapes, in a JSON text, what a terminal could act on: same value, still valid JSON.
 * @param json the output of a JSON serialiser
 * @returns the same document in characters that are safe to print
 */
export function terminalSafeJson(json: string): string {
  return json.replace(UNSAFE_IN_JSON, (found) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
      '',
    ),
  );
}

/** Cuts known secrets out of text, in the forms they take in messages, addresses and headers. */
export class Redactor {
  // Each form of a secret, and the beginning by which it is known where its end was cut off.
  readonly #forms = new Map<string, string>();

  /** @param secret a key in use; from now on none of its forms passes `redact` */
  add(secret: string): void {
    // A shorter one may stand inside an id or a word by chance, and cutting it out would falsify the answer.
    if (secret.length < 8) return;
    const bytes = Buffer.from(secret);
    const encoded = [encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), bytes.toString('base64')];
    for (const form of [secret, ...encoded, bytes.toString('base64url')]) this.#forms.set(form, beginningOf(form));
  }

  /**
   * @param text anything about to be written
   * @param whole true for data that is not cut short anywhere: what only begins like a secret is an answer then
   * @returns the text with every known secret replaced by `[redacted]`, also one of which only the beginning is left
   */
  redact(text: string, whole = false): string {
    let clean = text;
    for (const [form, beginning] of this.#forms) {
      if (!clean.includes(beginning)) continue;
      clean = clean.replaceAll(form, '[redacted]');
      if (whole) continue;
      for (let at = clean.indexOf(beginning); at >= 0; at = clean.indexOf(beginning, at)) {
        let end = at + beginning.length;
        while (end - at < form.length && clean[end] === form[end - at]) end++;
        clean = `${clean.slice(0, at)}[redacted]${clean.slice(end)}`;
      }
    }
    return clean;
  }
}

const CUT_FORM = 16;

// A message or a cell that is cut short may keep half a key; `sk_live_` alone is no secret, so plain words must go on longer.
function beginningOf(form: string): string {
  if (form.length < CUT_FORM) return form;
  return form.slice(0, /[0-9A-Z]/.test(form.slice(0, 8)) ? 8 : 12);
}

/**
 * Shows a key as the contract (section 4) allows: its last four characters at most.
 * @param key an API key
 * @returns for example `…4f2a`; `****` where the key is shorter than twelve characters
 */
export function maskKey(key: string): string {
  return key.length < 12 ? '****' : `…${key.slice(-4)}`;
}

/** No command, option or profile is this long; in characters. */
const LONGEST_WORD = 60;
/** A key is not shorter, unless it says by its beginning that it is one; in characters. */
const SHORTEST_KEY = 16;
const PREFIXED =
  /^(?:sk|pk|rk|(?:test|live|prod|api|access|auth|secret|my)?[_-]?key|api|sandbox|petstore|live|test)[_-]\S{3,}$/i;

/**
 * @param word one argument, as typed
 * @returns true where it may be an API key: begins like one, or is long, without blanks, and made of no plain words
 */
export function looksLikeKey(word: string): boolean {
  if (word.length > LONGEST_WORD || PREFIXED.test(word)) return true;
  if (word.length < SHORTEST_KEY || !/^[\w.+/=~-]+$/.test(word) || !/[a-z]/i.test(word)) return false;
  // Words are short: what goes on without a break is none. An option is one word or several.
  return /\d/.test(word) || (!word.startsWith('--') && /[^-._/]{16,}/.test(word));
}

/**
 * Cuts out what can only be a secret key, wherever it stands: in the host of an address or in a path.
 * @param text anything typed
 * @returns it without keys like `sk_live_…`; other words stay, since names of hosts and files may look like a key
 */
export function withoutSecretKeys(text: string): string {
  return text.replace(/(?<![a-z0-9])[spr]k_(?:live|test|prod)_\w{4,}/gi, '[redacted]');
}
