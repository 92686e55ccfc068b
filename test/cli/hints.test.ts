// Each hint is followed literally; then the failed command succeeds, or the command in the hint shows the relevant state.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import parseArgv from 'string-argv';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EXIT_CODES } from '../../src/cli/reference.ts';
import type { ErrorKind } from '../../src/errors.ts';
import type { FakeResponse, HttpFake, ReceivedRequest } from '../support/http-fake.ts';
import { errorResponse, quotaHeaders, startHttpFake } from '../support/http-fake.ts';
import type { Place } from '../support/processes.ts';
import { place } from '../support/processes.ts';
import { inProcess } from '../support/world.ts';

const GOOD = 'sk_secret_good_0123456789';
const BAD = 'sk_secret_bad_0123456789';

// A service that accepts one key and lists created categories, unless a test overrides its responses.
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
afterEach(() => {
  service.close();
  const names = created.map(({ name }) => name);
  expect(names, 'no hint leads to a duplicate').toEqual([...new Set(names)]);
});

function login(options: readonly string[] = [], stdin = GOOD) {
  return inProcess(['auth', 'login', '-p', 'staging', '--url', service.url, ...options], { dir: at.dir, stdin });
}

const write = (name: string, text: string): void => writeFileSync(join(at.dir, name), text);
const damageConfig = (): void => write('config/config.json', '{"damaged');
const deleteConfig = async () => [rmSync(join(at.dir, 'config/config.json')), await login()];
const set = (env: Record<string, string>) => () => void Object.assign(at.env, env);
const setState = (name: string) => () => set({ PETSTORE_STATE_DIR: join(at.dir, name) })();
const answer = (response: Override) => () => {
  override = response;
};
const lose = answer((request) => (request.method === 'POST' && create(request) ? 'reset' : undefined));
const print = (key: string) => () => write('print.cjs', `console.log('${key}')`);
const printer = (): string => `'${process.execPath}' '${join(at.dir, 'print.cjs')}'`;

const run = (words: string) => inProcess(parseArgv(words), { ...at, stdin: GOOD });

/** A command line that fails after a preparation, with its exit code and hint. */
type Row = readonly [line: string, code: number, hint: string, given: () => unknown];

async function fail(...[line, code, hint, given]: Row): Promise<void> {
  await Promise.all([given()].flat());
  const asJson = await inProcess([...parseArgv(line), '--json'], { ...at, stdin: '' });
  const lines = asJson.err.trim().split('\n');
  const { error } = JSON.parse(lines.at(-1) ?? '') as { error: { kind: ErrorKind } };
  expect([asJson.code, EXIT_CODES[error.kind].code]).toEqual([code, code]);
  created = [];
  const failed = await run(line);
  expect([failed.code, /hint: (.*)/.exec(failed.out + failed.err)?.[1]]).toEqual([code, hint]);
  // No quota line follows a 401 or a response without rate-limit headers.
  expect(failed.err).toMatch(/^(?:warning: .*\n)?error: .*\n(?:hint: .*\n)?$/);
  expect([asJson, failed].map(({ out, err }) => out + err).join()).not.toMatch(/sk_secret_|\n\s+at /);
}

/** Runs the command that the hint names, as a user would type it. */
function follow(hint: string) {
  const [, command] = /`petstore ([^`]+)`/.exec(hint) ?? expect.unreachable(hint);
  return run((command ?? '').replace('https://HOST/v1', service.url));
}

const nothing = (): void => undefined;
const saveBadKey = () => [login(['--no-verify'], BAD), write('rows.csv', 'name\ndog\n')];

test.each<Row>([
  ['categories import rows.csv --yes', 3, 'run `petstore auth login staging` to save a valid key', saveBadKey],
  ['quota -p nope', 2, 'run `petstore auth login nope --url https://HOST/v1` to create it', nothing],
])('`petstore %s` exits with code %i, and succeeds after its hint is followed: %s', async (line, code, hint, given) => {
  await fail(line, code, hint, given);
  expect(await follow(hint)).toMatchObject({ code: 0 });
  expect(await run(line)).toMatchObject({ code: 0 });
});

const setBadKey = set({ PETSTORE_API_KEY: BAD });
const setGoodKey = set({ PETSTORE_API_KEY: GOOD });
const setUnknownHost = set({ PETSTORE_API_KEY: GOOD, PETSTORE_BASE_URL: 'https://nowhere.invalid/v1' });
const setWrongPath = () => set({ PETSTORE_BASE_URL: service.url.replace('/v1', '/old/v1') })();
const setHost = () => set({ PETSTORE_BASE_URL: service.url })();
const saveCommand = () => [print(BAD)(), login(['--no-verify', '--key-command', printer()])];
const setCommand = () => [print(BAD)(), set({ PETSTORE_API_KEY_COMMAND: printer() })()];
const SAVED_COMMAND = 'make the key command from profile "staging" print a valid key';
const setFile = set({ PETSTORE_STATE_DIR: import.meta.filename });
const DELETE = 'correct the file, or delete it and log in again';
const STATE = 'set PETSTORE_STATE_DIR to a directory that you can write to';

test.each<[...Row, act: () => unknown]>([
  ['categories list', 3, 'set PETSTORE_API_KEY to a valid key', setBadKey, setGoodKey],
  ['quota --refresh -p staging', 3, SAVED_COMMAND, saveCommand, print(GOOD)],
  ['api GET categories', 3, 'make PETSTORE_API_KEY_COMMAND print a valid key', setCommand, print(GOOD)],
  ['categories list --max-retries 0', 6, 'check the host name in PETSTORE_BASE_URL', setUnknownHost, setHost],
  ['categories list', 4, 'check PETSTORE_BASE_URL', setWrongPath, setHost],
  ['categories list -p sandbox', 9, STATE, setFile, setState('new')],
  ['categories list -p staging', 9, DELETE, damageConfig, deleteConfig],
])(
  '`petstore %s` exits with code %i, and succeeds after the action in its hint: %s',
  async (line, code, hint, given, act) => {
    await fail(line, code, hint, given);
    await act();
    expect(await run(line)).toMatchObject({ code: 0 });
  },
);

const writeBody = () => write('my dog.json', '{"name":"dog"}');
const INPUT = "use --input 'my dog.json' to read the body from a file";

test.each<[...Row, again: string]>([
  ['auth login ci', 3, 'add --url https://HOST/v1', nothing, 'auth login ci --url URL'],
  ['api GET /v1/categories', 4, 'omit /v1, since the base URL ends in it', nothing, 'api GET /categories'],
  ["api POST categories -d '@my dog.json'", 2, INPUT, writeBody, "api POST categories --input 'my dog.json'"],
])(
  '`petstore %s` exits with code %i, and succeeds with the change in its hint: %s',
  async (line, code, hint, given, again) => {
    await fail(line, code, hint, given);
    expect(await run(again.replace('URL', service.url))).toMatchObject({ code: 0 });
  },
);

const LIST = 'categories list -p staging';
const lookUp = (search: string): string =>
  `run \`petstore categories list ${search} -p staging\` to check whether the category exists before you retry`;
const PIG = lookUp("--search 'guinea pig'");
const HOST = 'run `petstore auth status -p staging` to check the host name in the base URL';
// A typed profile overrides PETSTORE_BASE_URL.
const saveUnknownHost = () => [set(BASE_URL)(), login(['--no-verify', '--url', 'https://nowhere.invalid/v1'])];
const BASE_URL = { PETSTORE_BASE_URL: 'https://other.invalid/v1' };
const STATUS = 'run `petstore auth status -p staging` to check the base URL';
const DOCTOR = 'run `petstore doctor -p staging` to check the connection';
const REFUSED = /connection refused \(TCP\)\s+hint: check the host and port in the base URL/;
const sendHtml = answer(() => ({ body: '<html>' }));
const stopService = () => service.close();

test.each<[...Row, shows: RegExp]>([
  [
    'auth login -p sandbox',
    2,
    'run `petstore categories list -p sandbox` to use the sandbox',
    nothing,
    /No categories found/,
  ],
  ["categories create --name 'guinea pig' -p staging", 8, PIG, lose, /guinea pig/],
  ['categories create --name=-q -p staging', 8, lookUp('--search=-q'), lose, /1 +-q/],
  // The service may remove the space.
  ["categories create --name 'dog ' -p staging", 8, lookUp('--search dog'), lose, /1 +dog/],
  ['api POST categories -d \'{"name":"guinea pig"}\' -p staging', 8, PIG, lose, /guinea pig/],
  [`${LIST} --max-retries 0`, 6, HOST, saveUnknownHost, /staging +https:\/\/nowhere.invalid\/v1/],
  [`${LIST} --max-retries 0`, 6, DOCTOR, stopService, REFUSED],
  [LIST, 7, STATUS, sendHtml, /staging +http:\/\/127.0.0.1:\d+\/v1/],
])('`petstore %s` exits with code %i, and its hint names a command with the relevant output: %s', async (...row) => {
  const [line, code, hint, given, shows] = row;
  await fail(line, code, hint, given);
  const { out, err } = await follow(hint);
  expect(out + err).toMatch(shows);
});
