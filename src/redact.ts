// Keeps secrets out of everything that is printed.

/** Removes known secrets from text, in the forms they take in messages, URLs, headers, JSON and CSV. */
export class Redactor {
  // Maps each encoded form of a secret to the prefix that identifies a truncated one.
  readonly #forms = new Map<string, string>();

  add(secret: string): void {
    // A shorter secret could match part of an id or a word.
    if (secret.length < 8) return;
    const bytes = Buffer.from(secret);
    const escaped = [encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), secret.replaceAll('"', '""')];
    for (const form of [secret, ...escaped, bytes.toString('base64'), bytes.toString('base64url')]) {
      this.#forms.set(form, prefixOf(form));
    }
  }

  /**
   * Replaces every known secret with `[redacted]`, a truncated one too.
   * @param whole true for data that is never truncated: a prefix alone is then not redacted
   */
  redact(text: string, whole = false): string {
    let clean = text;
    for (const [form, prefix] of this.#forms) {
      if (clean.includes(prefix)) clean = clean.replaceAll(form, '[redacted]');
    }
    if (whole) return clean;
    for (const prefix of new Set(this.#forms.values())) {
      for (let at = clean.indexOf(prefix); at >= 0; at = clean.indexOf(prefix, at)) {
        clean = `${clean.slice(0, at)}[redacted]${clean.slice(at + this.#lengthAt(clean, at))}`;
      }
    }
    return clean;
  }

  // The length of the longest match at `at`: several encodings may share a prefix.
  #lengthAt(text: string, at: number): number {
    let longest = 0;
    for (const form of this.#forms.keys()) {
      let length = 0;
      while (length < form.length && text[at + length] === form[length]) length++;
      longest = Math.max(longest, length);
    }
    return longest;
  }
}

// A prefix of letters only is longer, because `sk_live_` alone is not secret.
function prefixOf(form: string): string {
  if (form.length < 16) return form;
  return form.slice(0, /[0-9A-Z]/.test(form.slice(0, 8)) ? 8 : 12);
}

/** The last four characters, for example `…4f2a`; `****` for a key shorter than twelve (docs/cli.md, keys). */
export function maskKey(key: string): string {
  return key.length < 12 ? '****' : `…${key.slice(-4)}`;
}

/** In characters; no command, option or profile name is longer. */
const MAX_WORD = 60;
/** In characters; a shorter key is recognized by its prefix only. */
const MIN_KEY = 16;
const KEY_PREFIX =
  /^(?:sk|pk|rk|(?:test|live|prod|api|access|auth|secret|my)?[_-]?key|api|sandbox|petstore|live|test)[_-]\S{3,}$/i;
// Unmistakable keys; names of hosts and files may look like other keys.
const SECRET_KEY = /(?<![a-z0-9])[spr]k_(?:live|test|prod)_\w{4,}/gi;

/** Whether a typed word may be an API key: by its prefix, or because it is long and not made of words. */
export function looksLikeKey(word: string): boolean {
  if (word.length > MAX_WORD || KEY_PREFIX.test(word)) return true;
  if (word.length < MIN_KEY || !/^[\w.+/=~-]+$/.test(word) || !/[a-z]/i.test(word)) return false;
  return /\d/.test(word) || (!word.startsWith('--') && /[^-._/]{16,}/.test(word));
}

/** Redacts each typed word that looks like a key; paths are kept, because users need them to find the mistake. */
export function withoutTypedKeys(text: string, args: readonly string[]): string {
  const words = args.flatMap((arg) => [
    arg,
    ...arg.split(/[\s=:,"'<>@]+/),
    arg.slice(arg.indexOf('=') + 1),
    arg.replace(/^-\w/, ''),
  ]);
  const keys = words.filter((word) => looksLikeKey(word) && !/\/|\.[a-z]{1,6}$/.test(word));
  return keys
    .reduce((left, key) => left.replaceAll(wholeWord(key), '[redacted]'), text)
    .replace(SECRET_KEY, '[redacted]');
}

// Matches whole words only: a longer name that contains the key's text is kept.
function wholeWord(key: string): RegExp {
  return new RegExp(`(?<![\\w-])${key.replace(/[^\w]/g, '\\$&')}(?![\\w-])`, 'g');
}

/** Whether a URL may contain a key; only long parts are checked, because ordinary names may start like a key. */
export function containsKey(url: URL): boolean {
  const parts = [...(url.hostname.includes('.') ? [] : [url.hostname]), ...url.pathname.split('/')];
  return url.href.search(SECRET_KEY) >= 0 || parts.some((part) => part.length >= MIN_KEY && looksLikeKey(part));
}
