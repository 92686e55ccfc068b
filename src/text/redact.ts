// Keeps secrets out of everything that is printed.

/** Removes known secrets from text, in the forms they take in messages, URLs, headers, JSON and CSV. */
export class Redactor {
  readonly #forms = new Set<string>();

  add(secret: string): void {
    // A shorter secret could match part of an id or a word.
    if (secret.length < 8) return;
    const bytes = Buffer.from(secret);
    const escaped = [encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), secret.replaceAll('"', '""')];
    for (const form of [secret, ...escaped, bytes.toString('base64'), bytes.toString('base64url')]) {
      this.#forms.add(form);
    }
  }

  /** Replaces every whole secret with `[redacted]`. */
  redact(text: string): string {
    let clean = text;
    for (const form of this.#forms) clean = clean.replaceAll(form, '[redacted]');
    return clean;
  }
}

/** The last four characters, for example `…4f2a`; `****` for a key shorter than twelve (docs/cli.md, profiles and keys). */
export function maskKey(key: string): string {
  return key.length < 12 ? '****' : `…${key.slice(-4)}`;
}

// Host and file names may look like other keys.
const SECRET_KEY = /(?<![a-z0-9])[spr]k_(?:live|test|prod)_\w{4,}/gi;
const WORD = /[^\s=:,"'`<>@]+/g;

/**
 * Whether a typed word may be an API key: it begins as one, or it is long and has digits. A name such as
 * `europe-west1-staging` or `species-of-2024` consists of words and short numbers.
 */
export function looksLikeKey(word: string): boolean {
  if (/^(?:[spr]k|sandbox)_\w{3,}/i.test(word)) return true;
  const isName = word.split(/[-._/]/).every((part) => /^(?:[a-z]{0,15}\d{0,4}|\d{8})$/i.test(part));
  return /^[\w.+/=~-]{16,}$/.test(word) && /\d/.test(word) && /[a-z]/i.test(word) && !isName;
}

/** Redacts each typed word that looks like a key; paths are kept, because users need them to find the mistake. */
export function redactTypedKeys(text: string, args: readonly string[]): string {
  const words = args.flatMap((arg) => [arg.replace(/^-\w/, ''), ...(arg.match(WORD) ?? [])]);
  const keys = new Set(words.filter((word) => looksLikeKey(word) && !/\/|\.[a-z]{1,6}$/.test(word)));
  return text.replace(WORD, (word) => (keys.has(word) ? '[redacted]' : word)).replace(SECRET_KEY, '[redacted]');
}
