// `petstore auth login`: a key from a hidden prompt or stdin, checked with the service, stored for its origin alone.

import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import type { View } from '../../output/view.ts';
import { checkKey, LONGEST_KEY } from '../../profiles/api-key.ts';
import { checkBaseUrl, parseBaseUrl } from '../../profiles/base-url.ts';
import type { Target } from '../../profiles/credentials.ts';
import { environmentUrl, namedProfile } from '../../profiles/credentials.ts';
import type { StoredProfile } from '../../profiles/store.ts';
import { SANDBOX } from '../../profiles/store.ts';
import { looksLikeKey, maskKey } from '../../redact.ts';
import type { Session } from '../../session.ts';

/** What the command takes. */
export interface LoginInput {
  readonly url: string | undefined;
  readonly verify: boolean;
}

/** What was stored. */
export interface LoginResult {
  readonly profile: string;
  readonly url: string;
  /** Masked. */
  readonly key: string;
  readonly verified: boolean;
  /** Whether the profile is used without `--profile`. */
  readonly active: boolean;
}

interface Address {
  readonly url: string;
  readonly origin: string;
}

/**
 * @param session the open session
 * @param input the URL, and whether the key is checked first
 * @returns what was stored
 * @throws PetstoreError `auth` for a bad key, one the service refuses, or no URL; `usage` for a bad URL; `storage`; else
 *   as the api does. Nothing is stored then
 */
export async function run(session: Session, input: LoginInput): Promise<LoginResult> {
  const store = await session.profiles();
  const { env } = session.context;
  const active = store.active();
  const profile = namedProfile({ env, profile: session.options.profile })?.name ?? active;
  if (profile === SANDBOX) {
    throw new PetstoreError('usage', 'the profile sandbox needs no login', {
      hint: 'petstore categories list -p sandbox',
    });
  }
  const address = await addressFor(session, input, profile, store.get(profile));
  const key = await readKey(session, profile);
  session.redactor.add(key);
  if (input.verify) await verify(session, { profile, key, address });
  await store.save({ name: profile, url: address.url, key, origin: address.origin });
  if (env['PETSTORE_API_KEY'] !== undefined) {
    await session.warn('PETSTORE_API_KEY is set and goes before the key that was stored');
  }
  return { profile, url: address.url, key: maskKey(key), verified: input.verify, active: profile === active };
}

export const view: View<LoginResult> = {
  *text(data) {
    yield `stored a key for ${data.profile}: ${data.key} at ${data.url}${data.verified ? '' : ' (not checked)'}\n`;
    if (!data.active) yield `use it with -p ${data.profile}, or make it active: petstore auth switch ${data.profile}\n`;
  },
};

async function addressFor(
  session: Session,
  input: LoginInput,
  profile: string,
  stored: StoredProfile | undefined,
): Promise<Address> {
  if (input.url !== undefined) return offered(session, input.url, '--url');
  const given = environmentUrl(session.context.env);
  if (given) return given;
  const known = stored?.url === undefined ? undefined : parseBaseUrl(stored.url);
  if (known && 'url' in known) return known;
  if (!session.context.stdin.isTTY) {
    // A key given as the name of a profile is not repeated.
    const name = stored === undefined && looksLikeKey(profile) ? 'PROFILE' : profile;
    throw new PetstoreError('auth', `the profile ${name} has no URL`, {
      hint: `petstore auth login -p ${name} --url https://HOST/v1`,
    });
  }
  const { askText } = await import('../../output/prompt.ts');
  const answer = await askText(asker(session), {
    message: `Base URL of ${profile} (https://HOST/v1)`,
    validate: (text) => {
      const parsed = parseBaseUrl(text.trim());
      return 'problem' in parsed && parsed.suggestion === undefined ? parsed.problem : undefined;
    },
  });
  return offered(session, answer, 'the answer');
}

// Where only /v1 is missing and somebody is there, it is offered.
async function offered(session: Session, text: string, from: string): Promise<Address> {
  const parsed = parseBaseUrl(text);
  const suggestion = 'problem' in parsed ? parsed.suggestion : undefined;
  if (suggestion === undefined || !session.context.stdin.isTTY) return checkBaseUrl(text, from);
  const { askYesNo } = await import('../../output/prompt.ts');
  if (await askYesNo(asker(session), `The address ends in /v1. Use ${escapeControls(suggestion)}?`)) {
    return checkBaseUrl(suggestion, from);
  }
  throw new PetstoreError('interrupted', 'nothing was stored');
}

function asker({ context, options }: Session) {
  const env = options.noColor ? { ...context.env, NO_COLOR: '1' } : context.env;
  return { stdin: context.stdin, stderr: context.stderr, env, signal: context.signal };
}

async function readKey(session: Session, profile: string): Promise<string> {
  if (!session.context.stdin.isTTY) return checkKey(await firstLine(session), 'standard input');
  const { askHidden } = await import('../../output/prompt.ts');
  return askHidden(asker(session), { message: `API key for ${profile} (hidden)`, validate: fault });
}

function fault(answer: string): string | undefined {
  try {
    checkKey(answer, 'the prompt');
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

async function firstLine(session: Session): Promise<string> {
  let text = '';
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  for await (const piece of session.context.stdin.read()) {
    text += decoder.decode(piece, { stream: true });
    // An endless line is no key.
    if (text.includes('\n') || text.length > LONGEST_KEY + 2) break;
  }
  const end = text.indexOf('\n');
  return (end < 0 ? text : text.slice(0, end)).replace(/\r$/, '');
}

async function verify(
  session: Session,
  candidate: { readonly profile: string; readonly key: string; readonly address: Address },
): Promise<void> {
  const { profile, key, address } = candidate;
  const target: Target = {
    profile,
    baseUrl: address.url,
    key,
    keySource: 'stored',
    urlSource: 'stored',
    identity: address.url,
  };
  try {
    await (await session.openApi(target)).categories.list();
  } catch (error) {
    if (!(error instanceof PetstoreError) || error.kind === 'interrupted') throw error;
    const unchecked =
      error.kind === 'auth' ? 'check the key' : `${error.hint ?? 'try again'}; --no-verify skips the check`;
    const { code, status, retryAt, exitCode, cause } = error;
    const hint = `nothing was stored: ${unchecked}`;
    throw new PetstoreError(error.kind, error.message, { hint, code, status, retryAt, exitCode, cause });
  }
}
