// `petstore auth login`: saves a key, or a command that prints one, for the origin of a base URL.
import type { Reason } from '../../../errors.ts';
import { PetstoreError, rephrase } from '../../../errors.ts';
import type { BaseUrl } from '../../../settings/credential-rules.ts';
import { checkBaseUrl, checkKey, MAX_KEY_LENGTH, parseBaseUrl } from '../../../settings/credential-rules.ts';
import { maskKey } from '../../../text/redact.ts';
import type { Action } from '../../command.ts';
import { actionHandler, PetstoreCommand } from '../../command.ts';
import type { Question } from '../../output/prompt.ts';
import type { ProfileStore } from '../../profiles/conf-store.ts';
import type { CredentialRequest } from '../../profiles/credentials.ts';
import { keyVariable, overridingUrl, requestedProfile } from '../../profiles/credentials.ts';
import type { StoredProfile } from '../../profiles/store.ts';
import { hasKey, SANDBOX } from '../../profiles/store.ts';
import { READ_ERRORS } from '../../reference.ts';
import type { Session } from '../../session.ts';
import { acceptProfileArgument } from './profiles.ts';

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
  /** Whether a key command was saved, whose text may contain the key. */
  readonly keyCommand: boolean;
  readonly verified: boolean;
  /** Whether commands without --profile use this profile from now on. */
  readonly active: boolean;
  /** Whether another profile was active before. */
  readonly activated: boolean;
}

/** The reasons of errors that a wrong base URL may cause. */
const SUSPECTS_URL = new Set<Reason['is'] | undefined>(['no_connection', 'unknown_host', 'wrong_service']);
const CORRECT_URL = 'pass the correct base URL with --url';
const CHECK_KEY = 'check the key and log in again';

/** A base URL or a key, with the question that asked for it at a terminal, and the hint for correcting it. */
interface Entered<T> {
  readonly value: T;
  readonly question?: Question<T>;
  readonly hint?: string;
}

const loginAction: Action<LoginOptions, LoginResult> = {
  async run(session, { url: urlOption, keyCommand, verify: verified }) {
    const { request } = session;
    const store = await session.profiles();
    const profile = requestedProfile(request) ?? store.active();
    if (profile === SANDBOX) {
      throw new PetstoreError('usage', 'profile "sandbox" needs no login', {
        hint: 'run `petstore categories list -p sandbox` to use the sandbox',
      });
    }
    const stored = store.get(profile);
    const exists = store.names().includes(profile);
    const enteredUrl = givenUrl(request, stored, urlOption) ?? (await askForUrl(session, profile, exists));
    const enteredKey =
      keyCommand === undefined ? await readKey(session, profile) : await runCommand(session, keyCommand, verified);
    const { url, key } =
      enteredKey && verified
        ? await verify(session, profile, enteredUrl, enteredKey)
        : { url: enteredUrl.value, key: enteredKey?.value };
    store.save(profile, { ...url, ...(keyCommand === undefined ? { key } : { keyCommand }) });
    const activated = activateIfNeeded(store, profile);
    const override = keyVariable(request);
    if (override) {
      await session.warn(
        `${override} overrides the key of profile "${profile}"; to use the saved key, add -p ${profile}`,
      );
    }
    return {
      profile,
      url: url.url,
      key: key === undefined ? null : maskKey(key),
      keyCommand: keyCommand !== undefined,
      verified,
      active: store.active() === profile,
      activated,
    };
  },
  view: {
    json: ({ activated: _, ...document }) => document,
    text({ profile, url, key, keyCommand, verified, active, activated }) {
      const what = keyCommand ? 'key command' : `key ${key}`;
      const use = `To use the profile, add -p ${profile} or run \`petstore auth switch ${profile}\``;
      return [
        `Saved ${what} for profile "${profile}" (${url})${verified ? '' : ', not verified'}\n`,
        active ? `Profile "${profile}" is ${activated ? 'now ' : ''}active\n` : `${use}\n`,
      ];
    },
  },
};

/** Activates the profile if the active one has no key. @returns whether it was activated */
function activateIfNeeded(store: ProfileStore, profile: string): boolean {
  const active = store.active();
  if (active === profile || active === SANDBOX || hasKey(store.get(active))) return false;
  store.activate(profile);
  return true;
}

function givenUrl(request: CredentialRequest, stored?: StoredProfile, option?: string): Entered<BaseUrl> | undefined {
  if (option !== undefined) return { value: checkBaseUrl(option, '--url'), hint: 'check --url' };
  const own = overridingUrl(request);
  if (own) return { value: own, hint: 'check PETSTORE_BASE_URL' };
  const saved = parseBaseUrl(stored?.url);
  return 'url' in saved ? { value: saved, hint: CORRECT_URL } : undefined;
}

async function askForUrl(session: Session, profile: string, exists: boolean): Promise<Entered<BaseUrl>> {
  if (!session.context.stdin.isTTY) {
    const message = `profile "${profile}" ${exists ? 'has no base URL' : 'does not exist'}`;
    throw new PetstoreError('auth', message, { hint: 'add --url https://HOST/v1' });
  }
  const { createQuestion } = await import('../../output/prompt.ts');
  const question = createQuestion(session.context, {
    message: `Base URL for profile "${profile}" (https://HOST/v1)`,
    parse: (text) => checkBaseUrl(text, 'the base URL'),
  });
  return { value: await question.ask(), question, hint: CORRECT_URL };
}

async function readKey(session: Session, profile: string): Promise<Entered<string>> {
  const { stdin, env, platform } = session.context;
  if (!stdin.isTTY) {
    // Git Bash connects its terminal through pipes, so there is no prompt.
    if (platform === 'win32' && env['MSYSTEM']) {
      await session.notice('Reading the key from stdin; for a hidden prompt, run `winpty petstore auth login`');
    }
    const key = (await firstLine(session)).trim();
    return { value: checkKey(key, 'stdin', 'pipe only the key: printable ASCII without spaces'), hint: CHECK_KEY };
  }
  const { createQuestion } = await import('../../output/prompt.ts');
  const question = createQuestion(session.context, {
    message: `API key for profile "${profile}" (input is hidden)`,
    hidden: true,
    parse: (text) => checkKey(text),
  });
  return { value: await question.ask(), question, hint: CHECK_KEY };
}

async function firstLine(session: Session): Promise<string> {
  let text = '';
  // The decoder drops a byte order mark, which PowerShell writes.
  const decoder = new TextDecoder('utf-8');
  for await (const chunk of session.context.stdin.read()) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes('\n') || text.length > 2 * MAX_KEY_LENGTH) break;
  }
  return text.split(/\r?\n/, 1)[0] ?? '';
}

// Without verification, the command is not run: its vault may be locked or on another machine.
async function runCommand(session: Session, line: string, mayRun: boolean): Promise<Entered<string> | undefined> {
  const command = { line, source: '--key-command' };
  const { parseKeyCommand, runKeyCommand } = await import('../../profiles/key-command.ts');
  parseKeyCommand(command);
  if (!mayRun) return undefined;
  const value = await runKeyCommand(command, session.context);
  return { value, hint: 'make --key-command print a valid key' };
}

/** Lists the categories until the service accepts URL and key; asks again for a rejected one that was typed at a prompt. */
async function verify(session: Session, profile: string, givenUrl: Entered<BaseUrl>, givenKey: Entered<string>) {
  let url = givenUrl;
  let key = givenKey;
  for (;;) {
    const given = { profile, baseUrl: url.value.url, key: key.value };
    const service = await session.connect({ ...given, urlSource: 'stored', keySource: 'stored' });
    try {
      await (await service.categories()).list();
      return { url: url.value, key: key.value };
    } catch (error) {
      if (!(error instanceof PetstoreError) || error.kind === 'interrupted') throw error;
      if (error.status === 401) key = await askAgain(key, error);
      else if (SUSPECTS_URL.has(error.details.reason?.is)) url = await askAgain(url, error);
      else throw nothingSavedError(error);
    }
  }
}

async function askAgain<T>(rejected: Entered<T>, error: PetstoreError): Promise<Entered<T>> {
  const { question, hint } = rejected;
  if (!question?.canAsk()) throw nothingSavedError(error, hint);
  return { ...rejected, value: await question.ask(error.message) };
}

function nothingSavedError(error: PetstoreError, hint?: string): PetstoreError {
  const { status, serviceMessage, message } = error;
  const rejected = 'the service rejected the API key (401), so nothing was saved';
  const text = status === 401 ? [rejected, serviceMessage].filter(Boolean).join(': ') : `nothing was saved: ${message}`;
  return rephrase(error, text, hint === undefined ? undefined : { hint });
}

export const login = (): PetstoreCommand =>
  acceptProfileArgument(new PetstoreCommand('login'))
    .description('save an API key for a profile')
    .option('--url <url>', 'base URL of the service: https, or http on loopback, ending in /v1')
    .option('--key-command <command>', 'save a command that prints the key, instead of a key')
    .option('--no-verify', 'save the key without checking it with the service')
    .sections({
      notes: `At a terminal, a prompt asks for the key and hides the input. Otherwise, the key is read from the first line of
stdin. There is no option for the key, because other users can see command-line arguments. The key is verified with one
GET /categories, saved in a file that only you can read, and sent only to the scheme, host and port that it was saved
for.

Whenever the key is needed, a key command runs without a shell, for at most 30 seconds. To use a shell, write
sh -c 'COMMAND'. The first line of stdout is the key. To use a key command without a profile, set PETSTORE_API_KEY_COMMAND.

If the active profile has no key, the profile that was logged in to becomes the active one.`,
      output: `two lines; with --json {"profile", "url", "key", "keyCommand", "verified", "active"}: key is masked, and
keyCommand is true if a key command was saved.`,
      exitCodes: READ_ERRORS,
      examples: [
        'petstore auth login --url https://HOST/v1',
        'petstore auth login staging --url https://STAGING_HOST/v1 < key.txt',
        `petstore auth login ci --url https://HOST/v1 --key-command 'pass show petstore'`,
      ],
    })
    .action(actionHandler(async () => loginAction));
