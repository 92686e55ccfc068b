// Keeps secrets out of what is printed: masks keys, recognises them, and cuts known ones out.

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
