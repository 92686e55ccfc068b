// `petstore auth login`: saves a key, or a command that prints one, for the origin of a base URL.
import type { Action } from '../../command.ts';
import { actionHandler, PetstoreCommand } from '../../command.ts';
import type { Environment } from '../../context.ts';
import { PetstoreError, rephrase } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { TransportError } from '../../http/types.ts';
import type { ProfileStore } from '../../profiles/conf-store.ts';
import type { BaseUrl } from '../../profiles/credential-rules.ts';
import { checkBaseUrl, checkKey, LONGEST_KEY, parseBaseUrl } from '../../profiles/credential-rules.ts';
import { environmentUrl, keyVariable, requestedProfile } from '../../profiles/credentials.ts';
import type { StoredProfile } from '../../profiles/store.ts';
import { hasKey, keyAsProfileError, SANDBOX } from '../../profiles/store.ts';
import { looksLikeKey, maskKey } from '../../redact.ts';
import type { Session } from '../../session.ts';
import { acceptProfile } from './profile-argument.ts';

interface LoginOptions {
  readonly url?: string;
  readonly keyCommand?: string;
  readonly verify: boolean;
}

interface LoginResult {
  readonly profile: string;
  readonly url: string;
  /** Masked; null if a key command was saved without running it. */
  readonly key: string | null;
  readonly keyCommand?: string | undefined;
  readonly verified: boolean;
  /** Whether commands without --profile use this profile from now on. */
  readonly active: boolean;
}

const loginAction: Action<LoginOptions, LoginResult> = {
  async run(session, options) {
    const store = await session.profiles();
    const typed = session.options.profile;
    // With --profile, ignore the environment.
    const env = typed === undefined ? session.context.env : {};
    const profile = requestedProfile(env, typed)?.name ?? store.active();
    if (profile === SANDBOX) {
      throw new PetstoreError('usage', 'profile "sandbox" needs no login', {
        hint: 'run `petstore categories list -p sandbox`',
      });
    }
    // The new profile becomes active only if the active one has no key.
    const active = store.activeIfReadable();
    const activated = active !== undefined && active !== profile && lacksKey(store, active);
    const { url, keyCommand, verify: verified } = options;
    const stored = store.get(profile);
    const address = url === undefined ? await findUrl(session, env, profile, stored) : checkBaseUrl(url, '--url');
    const key = keyCommand === undefined ? await readKey(session, profile) : await printedKey(session, options);
    if (key !== null) session.context.redactor.add(key);
    if (key !== null && verified) await verify(session, profile, key, address.url);
    store.save(profile, { ...address, ...(keyCommand === undefined ? { key: key ?? '' } : { keyCommand }) });
    if (activated) store.activate(profile);
    const override = keyVariable(env);
    if (override) await session.warn(`${override} is set and overrides the saved key`);
    return {
      profile,
      url: address.url,
      key: key === null ? null : maskKey(key),
      keyCommand,
      verified,
      active: activated || active === profile,
    };
  },
  view: {
    text({ profile, url, key, keyCommand, verified, active }) {
      const what = keyCommand === undefined ? `key ${key}` : `key command \`${escapeControls(keyCommand)}\``;
      const use = `To use it, add \`-p ${profile}\` or run \`petstore auth switch ${profile}\``;
      return [
        `Saved ${what} for profile "${profile}" (${url})${verified ? '' : ', not verified'}\n`,
        active ? `Profile "${profile}" is active\n` : `${use}\n`,
      ];
    },
  },
};

// A damaged profile may have a key.
function lacksKey(store: ProfileStore, profile: string): boolean {
  try {
    return profile !== SANDBOX && !hasKey(store.get(profile));
  } catch {
    return false;
  }
}

async function findUrl(session: Session, env: Environment, profile: string, stored?: StoredProfile): Promise<BaseUrl> {
  const known = environmentUrl(env) ?? parseBaseUrl(stored?.url);
  if ('url' in known) return known;
  // The name may be a key that was typed in its place.
  if (stored === undefined && looksLikeKey(profile)) throw keyAsProfileError();
  if (!session.context.stdin.isTTY) {
    throw new PetstoreError('auth', `profile "${profile}" has no base URL`, {
      hint: `run \`petstore auth login -p ${profile} --url https://HOST/v1\``,
    });
  }
  const { askFor } = await import('../../output/prompt.ts');
  return askFor(session.context, {
    message: `Base URL for profile "${profile}" (https://HOST/v1)`,
    parse: (text) => checkBaseUrl(text, 'the base URL'),
  });
}

async function readKey(session: Session, profile: string): Promise<string> {
  if (!session.context.stdin.isTTY) {
    return checkKey((await firstLine(session)).trim(), 'stdin', 'pipe the key to stdin');
  }
  const { askFor } = await import('../../output/prompt.ts');
  return askFor(session.context, {
    message: `API key for profile "${profile}" (input is hidden)`,
    hidden: true,
    parse: (text) => checkKey(text),
  });
}

async function firstLine(session: Session): Promise<string> {
  let text = '';
  // The decoder drops a byte order mark, which PowerShell writes.
  const decoder = new TextDecoder('utf-8');
  for await (const chunk of session.context.stdin.read()) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes('\n') || text.length > 2 * LONGEST_KEY) break;
  }
  return text.split(/\r?\n/, 1)[0] ?? '';
}

// Without verification the command is not run: its vault may be locked or elsewhere.
async function printedKey(session: Session, { keyCommand = '', verify: run }: LoginOptions): Promise<string | null> {
  const { parseKeyCommand, runKeyCommand } = await import('../../profiles/key-command.ts');
  parseKeyCommand(keyCommand, '--key-command');
  return run ? runKeyCommand(keyCommand, '--key-command', session.context) : null;
}

async function verify(session: Session, profile: string, key: string, url: string): Promise<void> {
  try {
    const credentials = { profile, baseUrl: url, key, keySource: 'stored', urlSource: 'stored' } as const;
    session.target = async () => credentials;
    await (await session.api()).categories.list();
    session.usedTarget = credentials;
  } catch (error) {
    if (!(error instanceof PetstoreError) || error.kind === 'interrupted') throw error;
    const { status = 0, kind, message, code, cause } = error;
    const reason = cause instanceof TransportError ? cause.reason : '';
    const isUrl = /^(?:rejected|service|network)$/.test(kind) && status < 500 && !reason.startsWith('proxy');
    const text = `${message}${code ? ` [${code}]` : ''}; nothing was saved`;
    throw rephrase(error, text, isUrl ? 'check --url' : undefined);
  }
}

export const login = (): PetstoreCommand =>
  acceptProfile(new PetstoreCommand('login'))
    .description('save an API key for a profile')
    .option('--url <url>', 'base URL of the service: https, or http on loopback, ending in /v1')
    .option('--key-command <command>', 'save a command that prints the key, instead of a key')
    .option('--no-verify', 'save the key without checking it with the service')
    .sections({
      notes: `At a terminal, a hidden prompt asks for the key. Otherwise, the key is read from the first line of
stdin. There is no option for the key, because other users can see command-line arguments. The key is verified with one
GET /categories, saved in a file that only you can read, and sent only to the scheme, host and port that it was saved
for.

A key command runs each time the key is needed, for at most 30 seconds and without a shell (to use one, write
sh -c 'COMMAND'). The first line of its stdout is the key. To use a key command without a
profile, set PETSTORE_API_KEY_COMMAND.

If the active profile has no key, the new profile becomes the active one.`,
      output: `two lines; with --json {"profile", "url", "key", "keyCommand", "verified", "active"}, with the key masked.`,
      exitCodes: ['usage', 'auth', 'network', 'storage'],
      examples: [
        'petstore auth login --url https://HOST/v1',
        'petstore auth login -p staging --url https://STAGING_HOST/v1 < key.txt',
        `petstore auth login -p ci --url https://HOST/v1 --key-command 'pass show petstore'`,
      ],
    })
    .action(actionHandler(async () => loginAction));
