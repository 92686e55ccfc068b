// Follows the hint of each kind of error literally: afterwards its cause is gone or shown.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import parseArgv from 'string-argv';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ErrorKind } from '../src/error-kind.ts';
import { EXIT_CODES } from '../src/reference.ts';
import type { FakeResponse, HttpFake, ReceivedRequest } from './support/http-fake.ts';
import { errorResponse, quotaHeaders, startHttpFake } from './support/http-fake.ts';
import type { Place } from './support/processes.ts';
import { place } from './support/processes.ts';
import { inProcess } from './support/world.ts';

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
const LIST = 'categories list -p staging';
const LOOKUP =
  "run `petstore categories list --search 'guinea pig' -p staging` to check whether the category exists before you retry";
const CREATE = 'api POST categories -d \'{"name":"guinea pig"}\' -p staging';
const nothing = (): void => undefined;

const run = (words: string) => inProcess(parseArgv(words), { ...at, stdin: GOOD });

/** What is wrong, the command line that fails for it, its exit code and its hint. */
type Row = readonly [what: string, given: () => unknown, line: string, code: number, hint: string];

async function fail([, given, line, code, hint]: Row): Promise<void> {
  await Promise.all([given()].flat());
  const asJson = await inProcess([...parseArgv(line), '--json'], { ...at, stdin: '' });
  const lines = asJson.err.trim().split('\n');
  const { error } = JSON.parse(lines.at(-1) ?? '') as { error: { kind: ErrorKind } };
  expect([asJson.code, EXIT_CODES[error.kind].code]).toEqual([code, code]);
  created = [];
  const failed = await run(line);
  expect([failed.code, /hint: (.*)/.exec(failed.out + failed.err)?.[1]]).toEqual([code, hint]);
  // Without a quota line: no response of this command had headers.
  expect(failed.err).toMatch(/^(?:warning: .*\n)?error: .*\n(?:hint: .*\n)?$/);
  expect([asJson, failed].map(({ out, err }) => out + err).join()).not.toMatch(/sk_secret_|\n\s+at /);
}

/** The command that the hint names, as a user would type it. */
function commandIn(hint: string): string {
  return /`petstore ([^`]+)`/.exec(hint)?.[1]?.replace('https://HOST/v1', service.url) ?? expect.unreachable(hint);
}

function expectNoDuplicates(): void {
  const names = created.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
}

test.each<Row>([
  [
    'a wrong key in the active profile',
    () => [login(['--no-verify'], BAD), write('rows.csv', 'name\ndog\n')],
    'categories import rows.csv --yes',
    3,
    'run `petstore auth login -p staging` to save a valid key',
  ],
  [
    'a login without a base URL',
    nothing,
    'auth login -p ci',
    3,
    'run `petstore auth login -p ci --url https://HOST/v1` to save a base URL and a key',
  ],
  [
    'an unknown profile',
    nothing,
    'quota -p nope',
    2,
    'run `petstore auth login -p nope --url https://HOST/v1` to create it',
  ],
])('after the command that the hint about %s names, the failed command succeeds', async (...row) => {
  const [, , line, , hint] = row;
  await fail(row);
  expect(await run(commandIn(hint))).toMatchObject({ code: 0 });
  expect(await run(line)).toMatchObject({ code: 0 });
  expectNoDuplicates();
});

const setBadKey = set({ PETSTORE_API_KEY: BAD });
const setGoodKey = set({ PETSTORE_API_KEY: GOOD });

test.each<[...Row, follow: () => unknown]>([
  ['a wrong PETSTORE_API_KEY', setBadKey, 'categories list', 3, 'set PETSTORE_API_KEY to a valid key', setGoodKey],
  [
    "a wrong key from the profile's key command",
    () => [print(BAD)(), login(['--no-verify', '--key-command', printer()])],
    'quota --refresh -p staging',
    3,
    'make the key command from profile "staging" print a valid key',
    print(GOOD),
  ],
  [
    'a wrong key from PETSTORE_API_KEY_COMMAND',
    () => [print(BAD)(), set({ PETSTORE_API_KEY_COMMAND: printer() })()],
    'api GET categories',
    3,
    'make PETSTORE_API_KEY_COMMAND print a valid key',
    print(GOOD),
  ],
  [
    'a state directory that cannot be created',
    () => [write('file', ''), setState('file/state')()],
    'categories list -p sandbox',
    9,
    'set PETSTORE_STATE_DIR to a directory that you can write to',
    setState('new'),
  ],
])('after the action that the hint about %s names, the failed command succeeds', async (...row) => {
  const [what, given, line, code, hint, follow] = row;
  await fail([what, given, line, code, hint]);
  await follow();
  expect(await run(line)).toMatchObject({ code: 0 });
});

test.each<[...Row, again: string]>([
  ['a mistyped profile', nothing, 'categories list -p stagin', 2, 'did you mean "staging"?', LIST],
  [
    'a path with the version',
    nothing,
    'api GET /v1/categories',
    4,
    'leave out /v1, in which the base URL ends',
    'api GET /categories',
  ],
  [
    'a body from a file',
    () => write('my dog.json', '{"name":"dog"}'),
    "api POST categories -d '@my dog.json'",
    2,
    "to read the body from a file, use --input 'my dog.json'",
    "api POST categories --input 'my dog.json'",
  ],
])('the command line that the hint about %s asks for succeeds', async (...row) => {
  const [what, given, line, code, hint, again] = row;
  await fail([what, given, line, code, hint]);
  expect(await run(again)).toMatchObject({ code: 0 });
  expectNoDuplicates();
});

test.each<[...Row, shows: RegExp]>([
  [
    'a login to the sandbox',
    nothing,
    'auth login -p sandbox',
    2,
    'run `petstore categories list -p sandbox` to use it',
    /No categories found/,
  ],
  [
    'a damaged profile',
    () => damage('profile-staging'),
    LIST,
    9,
    'run `petstore auth logout -p staging --delete` to delete the profile',
    /Deleted profile "staging"/,
  ],
  [
    'a damaged active.json beside a damaged profile',
    () => damage('profile-staging', 'active'),
    'auth status',
    9,
    'run `petstore auth switch production` to set the active profile again',
    /Profile "production" is now active/,
  ],
  [
    'a create whose response is lost',
    lose,
    "categories create --name 'guinea pig' -p staging",
    8,
    LOOKUP,
    /guinea pig/,
  ],
  [
    'a create of a name like an option whose response is lost',
    lose,
    'categories create --name=-q -p staging',
    8,
    'run `petstore categories list --search=-q -p staging` to check whether the category exists before you retry',
    /1 +-q/,
  ],
  ['a raw create whose response is lost', lose, CREATE, 8, LOOKUP, /guinea pig/],
  [
    'an unreachable service',
    () => service.close(),
    `${LIST} --max-retries 0`,
    6,
    'run `petstore doctor -p staging` to check the connection',
    /connection refused \(TCP\)\s+hint: check the host and port in the base URL/,
  ],
  [
    'an HTML page instead of a list',
    answer(() => ({ body: '<html>' })),
    LIST,
    7,
    'run `petstore auth status -p staging` to check the base URL',
    /staging +http:\/\/127.0.0.1:\d+\/v1/,
  ],
])('the command that the hint about %s names shows the cause', async (...row) => {
  const [what, given, line, code, hint, shows] = row;
  await fail([what, given, line, code, hint]);
  const { out, err } = await run(commandIn(hint));
  expect(out + err).toMatch(shows);
  expectNoDuplicates();
});
