// `petstore auth login`: stores a key, or a command that prints one, for the origin of a base URL.
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import type { View } from '../../output/view.ts';
import { checkKey, LONGEST_KEY } from '../../profiles/api-key.ts';
import { checkBaseUrl, parseBaseUrl } from '../../profiles/base-url.ts';
import { environmentHasKey, environmentUrl, namedProfile } from '../../profiles/credentials.ts';
import type { ProfileStore, StoredProfile } from '../../profiles/store.ts';
import { SANDBOX } from '../../profiles/store.ts';
import { looksLikeKey, maskKey } from '../../redact.ts';
import type { Session } from '../../session.ts';
import { runKeyCommandOf } from '../../session-services.ts';

export interface LoginInput {
  readonly url: string | undefined;
  readonly keyCommand: string | undefined;
  readonly verify: boolean;
}

export interface LoginResult {
  readonly profile: string;
  readonly url: string;
  /** Masked; null where a key command was stored without running it. */
  readonly key: string | null;
  readonly keyCommand?: string;
  readonly verified: boolean;
  /** Whether commands without `--profile` use the profile from now on. */
  readonly active: boolean;
  /** Whether this login made it the active profile. */
  readonly activated: boolean;
}

interface Address {
  readonly url: string;
  readonly origin: string;
}

/**
 * Nothing is stored where this throws.
 * @throws PetstoreError `auth` for an invalid or rejected key, or a missing URL; `usage` for an invalid URL; `storage`;
 *   otherwise as the API does
 */
export async function run(session: Session, input: LoginInput): Promise<LoginResult> {
  const store = await session.profiles();
  const { env } = session.context;
  const typed = session.options.profile !== undefined;
  const profile = namedProfile({ env, profile: session.options.profile })?.name ?? store.active();
  if (profile === SANDBOX) {
    throw new PetstoreError('usage', 'profile "sandbox" needs no login', {
      hint: 'run `petstore categories list -p sandbox`',
    });
  }
  const address = await addressFor(session, input, profile, store.get(profile), typed);
  const { keyCommand, verify: verified } = input;
  const key =
    keyCommand === undefined ? await readKey(session, profile) : await printedKey(session, keyCommand, verified);
  if (key !== null) session.redactor.add(key);
  if (key !== null && verified) await verify(session, profile, key, address);
  store.save({ name: profile, ...address, ...(keyCommand === undefined ? { key: key ?? '' } : { keyCommand }) });
  const activated = activateFirst(store, profile);
  if (!typed && environmentHasKey(env)) {
    const variable = env['PETSTORE_API_KEY'] === undefined ? 'PETSTORE_KEY_COMMAND' : 'PETSTORE_API_KEY';
    await session.warn(`${variable} is set and overrides the saved key`);
  }
  return {
    profile,
    url: address.url,
    key: key === null ? null : maskKey(key),
    ...(keyCommand !== undefined && { keyCommand }),
    verified,
    active: activated || store.active() === profile,
    activated,
  };
}

export const view: View<LoginResult> = {
  *text({ profile, url, key, keyCommand, verified, active, activated }) {
    const what = keyCommand === undefined ? `key ${key}` : `key command "${escapeControls(keyCommand)}"`;
    yield `Saved ${what} for profile "${profile}" (${url})${verified ? '' : ', not verified'}\n`;
    if (activated) yield `Profile "${profile}" is now the active one\n`;
    else if (!active) yield `To use it, add \`-p ${profile}\` or run \`petstore auth switch ${profile}\`\n`;
  },
};

// A first login is meant to be used: the active profile changes only where it could not be used anyway.
function activateFirst(store: ProfileStore, profile: string): boolean {
  const active = store.active();
  if (active === profile) return false;
  const current = store.get(active);
  if (active === SANDBOX || current?.key !== undefined || current?.keyCommand !== undefined) return false;
  store.activate(profile);
  return true;
}

async function addressFor(
  session: Session,
  input: LoginInput,
  profile: string,
  stored: StoredProfile | undefined,
  typed: boolean,
): Promise<Address> {
  if (input.url !== undefined) return confirmedUrl(session, input.url, '--url');
  const fromEnvironment = typed ? undefined : environmentUrl(session.context.env);
  if (fromEnvironment) return fromEnvironment;
  const known = stored?.url === undefined ? undefined : parseBaseUrl(stored.url);
  if (known && 'url' in known) return known;
  if (!session.context.stdin.isTTY) {
    // A key given as the name of a profile is not repeated.
    const name = stored === undefined && looksLikeKey(profile) ? 'PROFILE' : profile;
    throw new PetstoreError('auth', `profile "${name}" has no base URL`, {
      hint: `run \`petstore auth login -p ${name} --url https://HOST/v1\``,
    });
  }
  const { askText } = await import('../../output/prompt.ts');
  const answer = await askText(promptIO(session), {
    message: `Base URL of ${profile} (https://HOST/v1)`,
    validate: (text) => {
      const parsed = parseBaseUrl(text.trim());
      return 'problem' in parsed && parsed.suggestion === undefined ? parsed.problem : undefined;
    },
  });
  return confirmedUrl(session, answer, 'the answer');
}

// On a terminal a missing /v1 is offered.
async function confirmedUrl(session: Session, text: string, from: string): Promise<Address> {
  const parsed = parseBaseUrl(text);
  const suggestion = 'problem' in parsed ? parsed.suggestion : undefined;
  if (suggestion === undefined || !session.context.stdin.isTTY) return checkBaseUrl(text, from);
  const { askYesNo } = await import('../../output/prompt.ts');
  if (await askYesNo(promptIO(session), `The base URL must end in /v1. Use ${escapeControls(suggestion)}?`)) {
    return checkBaseUrl(suggestion, from);
  }
  throw new PetstoreError('interrupted', 'nothing was saved');
}

function promptIO({ context, options }: Session) {
  const env = options.noColor ? { ...context.env, NO_COLOR: '1' } : context.env;
  return { stdin: context.stdin, stderr: context.stderr, env, signal: context.signal };
}

async function readKey(session: Session, profile: string): Promise<string> {
  if (!session.context.stdin.isTTY) return checkKey(await firstLine(session), 'standard input');
  const { askHidden } = await import('../../output/prompt.ts');
  return askHidden(promptIO(session), { message: `API key for ${profile} (hidden)`, validate: keyFault });
}

function keyFault(answer: string): string | undefined {
  try {
    checkKey(answer, 'the prompt');
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

async function firstLine(session: Session): Promise<string> {
  let text = '';
  // Drops a byte order mark, which PowerShell writes.
  const decoder = new TextDecoder('utf-8');
  for await (const chunk of session.context.stdin.read()) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes('\n') || text.length > LONGEST_KEY + 2) break;
  }
  return text.split(/\r?\n/, 1)[0] ?? '';
}

// Without verification the command is not run: its vault may be locked or elsewhere.
async function printedKey(session: Session, keyCommand: string, verified: boolean): Promise<string | null> {
  if (!verified) return null;
  const from = '--key-command';
  return checkKey(await runKeyCommandOf(session, keyCommand, from), from);
}

async function verify(session: Session, profile: string, key: string, { url }: Address): Promise<void> {
  try {
    const target = { profile, baseUrl: url, key, keySource: 'stored', urlSource: 'stored', identity: url } as const;
    await (await session.openApi(target)).categories.list();
  } catch (error) {
    if (!(error instanceof PetstoreError) || error.kind === 'interrupted') throw error;
    const remedy =
      error.kind === 'auth' ? 'check the key' : `${error.hint ?? 'try again'}; --no-verify skips the check`;
    const { code, status, retryAt, exitCode, cause } = error;
    const hint = `nothing was saved; ${remedy}`;
    throw new PetstoreError(error.kind, error.message, { hint, code, status, retryAt, exitCode, cause });
  }
}
