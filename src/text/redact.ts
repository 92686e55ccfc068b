// Keeps secrets out of messages.

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

/** Whether a typed word is an API key rather than a name: `sk_team` and `sandbox_dev` are valid profile names. */
export function looksLikeKey(word: string): boolean {
  return /^(?:[spr]k|sandbox)_/.test(word) && word.length >= 20;
}

/** Redacts each word that looks like a key, except a file name with an extension, which users need to find the mistake. */
export function redactTypedKeys(text: string): string {
  const words = /(?<![a-z0-9])(?:[spr]k|sandbox)_[^\s=:,"'`<>@/]+/g;
  return text.replace(words, (word) => (looksLikeKey(word) && !/\.[a-z]{1,6}$/.test(word) ? '[redacted]' : word));
}
