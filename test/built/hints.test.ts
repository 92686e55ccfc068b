// Errors and their hints, followed to the letter: each is printed with a saved profile, and done; then its error is gone.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import parseArgv from 'string-argv';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ErrorKind } from '../../src/reference.ts';
import { EXIT_CODES } from '../../src/reference.ts';
import type { FakeResponse, HttpFake, ReceivedRequest } from '../support/http-fake.ts';
import { errorResponse, quotaHeaders, startHttpFake } from '../support/http-fake.ts';
import type { Place } from '../support/processes.ts';
import { place } from '../support/processes.ts';
import { petstore } from '../support/program.ts';
import { inProcess } from '../support/world.ts';

const GOOD = 'sk_secret_good_0123456789';
const BAD = 'sk_secret_bad_0123456789';

// A service that accepts one key and keeps its categories, unless a test overrides its responses.
type Override = (request: ReceivedRequest) => FakeResponse | undefined;
let override: Override | undefined;
let created: { id: number; name: string }[];
let service: HttpFake;
let at: Place;

function create({ body }: ReceivedRequest): FakeResponse {
  const category = { id: created.length + 1, name: (JSON.parse(body) as { name: string }).name };
  created.push(category);
  return { status: 201, body: category };
}

function respond(request: ReceivedRequest): FakeResponse {
  const overridden = override?.(request);
  if (overridden) return overridden;
  if (request.headers.authorization !== `Bearer ${GOOD}`)
    return errorResponse(401, 'unauthorized', 'No.', quotaHeaders());
  if (request.path !== '/v1/categories') return errorResponse(404, 'not_found', 'No such path.');
  return request.method === 'POST' ? create(request) : { body: created, headers: quotaHeaders() };
}

beforeEach(async () => {
  override = undefined;
  created = [];
  service = await startHttpFake(respond);
  at = place();
  // The first profile with a key becomes the active one.
  await login();
});
afterEach(() => service.close());

function login(options: readonly string[] = [], stdin = GOOD) {
  return inProcess(['auth', 'login', '-p', 'staging', '--url', service.url, ...options], { dir: at.dir, stdin });
}

interface Case {
  /** What is wrong. */
  readonly given?: () => unknown;
  /** Does what the hint says, unless it names a command, which is run as printed. */
  readonly follow?: () => unknown;
  /** The output of the hint's command, if it only looks for the cause; otherwise the command that failed now succeeds. */
  readonly shows?: RegExp;
  /** The second command line, if the hint changes it. */
  readonly again?: string;
  /** True if the built program runs the commands, otherwise they run in the test process. */
  readonly built?: true;
}

const write = (name: string, text: string): void => writeFileSync(join(at.dir, name), text);
const damage = (...names: string[]): void => {
  for (const name of names) write(`config/${name}.json`, '{"damaged');
};
const set = (env: Record<string, string>) => () => void Object.assign(at.env, env);
const setState = (name: string) => () => set({ PETSTORE_STATE_DIR: join(at.dir, name) })();
const answer = (response: Override) => () => {
  override = response;
};
const lose = answer((request) => (request.method === 'POST' && create(request) ? 'reset' : undefined));
const print = (key: string) => () => write('print.cjs', `console.log('${key}')`);
const printer = (): string => `'${process.execPath}' '${join(at.dir, 'print.cjs')}'`;
const WRONG_KEY = { given: set({ PETSTORE_API_KEY: BAD }), follow: set({ PETSTORE_API_KEY: GOOD }) };
const LIST = 'categories list -p staging';
const LOST = { given: lose, shows: /guinea pig/ };
const LOOKUP =
  "run `petstore categories list --search 'guinea pig' -p staging` to check whether the category exists before you retry";

test.each<[what: string, line: string, code: number, hint: string, more?: Case]>([
  ['a wrong PETSTORE_API_KEY', 'categories list', 3, 'set PETSTORE_API_KEY to a valid key', WRONG_KEY],
  ['a wrong key, found by doctor', 'doctor', 3, 'set PETSTORE_API_KEY to a valid key', WRONG_KEY],
  [
    'a wrong key in the active profile',
    'categories import rows.csv --yes',
    3,
    'run `petstore auth login -p staging` to save a valid key',
    { given: () => [login(['--no-verify'], BAD), write('rows.csv', 'name\ndog\n')], built: true },
  ],
  [
    "a wrong key from the profile's key command",
    'quota --refresh -p staging',
    3,
    'make the key command from profile "staging" print a valid key',
    {
      given: () => [print(BAD)(), login(['--no-verify', '--key-command', printer()])],
      follow: print(GOOD),
    },
  ],
  [
    'a wrong key from PETSTORE_API_KEY_COMMAND',
    'api GET categories',
    3,
    'make the key command from PETSTORE_API_KEY_COMMAND print a valid key',
    { given: () => [print(BAD)(), set({ PETSTORE_API_KEY_COMMAND: printer() })()], follow: print(GOOD) },
  ],
  [
    'a key command whose program is missing',
    LIST,
    3,
    'correct the key command from profile "staging" so that it prints only the API key',
    { given: () => [login(['--no-verify', '--key-command', 'no-such-program'])], follow: () => login() },
  ],
  ['a login without a base URL', 'auth login -p ci', 3, 'run `petstore auth login -p ci --url https://HOST/v1`'],
  ['an unknown profile', 'quota -p nope', 2, 'run `petstore auth login -p nope --url https://HOST/v1` to create it'],
  ['a mistyped profile', 'categories list -p stagin', 2, 'did you mean "staging"?', { again: LIST }],
  [
    'a login to the sandbox',
    'auth login -p sandbox',
    2,
    'run `petstore categories list -p sandbox`',
    { shows: /No categories found/ },
  ],
  [
    'a damaged profile',
    LIST,
    9,
    'run `petstore auth logout -p staging --delete` to delete the profile',
    { given: () => damage('profile-staging'), shows: /Deleted profile "staging"/, built: true },
  ],
  [
    'a damaged active.json beside a damaged profile',
    'auth status',
    9,
    'run `petstore auth switch production` to set the active profile again',
    { given: () => damage('profile-staging', 'active'), shows: /Profile "production" is now active/ },
  ],
  [
    'a state directory that cannot be created',
    'categories list -p sandbox',
    9,
    'set PETSTORE_STATE_DIR to a directory that you can write to',
    { given: () => [write('file', ''), setState('file/state')()], follow: setState('new') },
  ],
  [
    'a create whose response is lost',
    "categories create --name 'guinea pig' -p staging",
    8,
    LOOKUP,
    { ...LOST, built: true },
  ],
  ['a raw create whose response is lost', `api POST categories -d '{"name":"guinea pig"}' -p staging`, 8, LOOKUP, LOST],
  [
    'an unreachable service',
    `${LIST} --max-retries 0`,
    6,
    'run `petstore doctor -p staging` to check the connection',
    {
      given: () => service.close(),
      shows: /connection refused \(TCP\)\s+hint: check the host and port in the base URL/,
    },
  ],
  [
    'an HTML page instead of a list',
    LIST,
    7,
    'run `petstore auth status -p staging` to check the base URL',
    { given: answer(() => ({ body: '<html>' })), shows: /staging +http:\/\/127.0.0.1:\d+\/v1/ },
  ],
  [
    'a timeout',
    `${LIST} --timeout 200ms --max-retries 0`,
    6,
    'try again with a longer --timeout',
    { given: answer(() => 'silence'), follow: answer(() => undefined), again: `${LIST} --timeout 10s` },
  ],
  ['a command in place of its group', 'whoami', 2, 'did you mean `petstore auth status`?'],
  [
    'a name without its option',
    "-p staging categories create 'guinea pig' --description x",
    2,
    "did you mean `petstore -p staging categories create --name 'guinea pig' --description x`?",
  ],
  ['a path without its method', 'api categories', 2, 'did you mean `petstore api GET categories`?'],
  ['a path with the version', 'api GET /v1/categories', 4, 'did you mean `petstore api GET categories`?'],
  [
    'a body from a file',
    "api POST categories -d '@my dog.json'",
    2,
    "to read the body from a file, use `--input 'my dog.json'`",
    { given: () => write('my dog.json', '{"name":"dog"}'), again: "api POST categories --input 'my dog.json'" },
  ],
])('the hint about %s, followed, ends the error', async (_what, line, code, hint, more = {}) => {
  await Promise.all([more.given?.()].flat());
  const run = (words: string, stdin = '') =>
    more.built ? petstore(at, parseArgv(words), stdin) : inProcess(parseArgv(words), { ...at, stdin });
  const asJson = await inProcess([...parseArgv(line), '--json'], at);
  const documents = asJson.err
    .trim()
    .split('\n')
    .map((one) => JSON.parse(one) as { error: { kind: ErrorKind } });
  const { kind } = documents.at(-1)?.error ?? expect.unreachable('no error');
  expect([asJson.code, EXIT_CODES[kind].code]).toEqual([code, code]);
  created = [];
  const failed = await run(line);
  expect([failed.code, /hint: (.*)/.exec(failed.out + failed.err)?.[1]]).toEqual([code, hint]);
  // Without a quota line: no response of this command had headers.
  expect(failed.err).toMatch(/^(?:warning: .*\n)?error: .*\n(?:hint: .*\n)?$/);
  expect([asJson, failed].map(({ out, err }) => out + err).join()).not.toMatch(/sk_secret_|\n\s+at /);

  // Lost responses do not recur; any other failure lasts until the hint is followed.
  if (code === 8) override = undefined;
  await more.follow?.();
  const command = /`petstore ([^`]+)`/.exec(hint)?.[1]?.replace('https://HOST/v1', service.url);
  const done = command === undefined ? undefined : await run(command, GOOD);
  if (more.shows) expect(`${done?.out}${done?.err}`).toMatch(more.shows);
  else if (hint.startsWith('did you mean `')) expect(done).toMatchObject({ code: 0 });
  else expect(await run(more.again ?? line, GOOD)).toMatchObject({ code: 0 });
  const names = created.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
});
