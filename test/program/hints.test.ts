// Hints, followed to the letter: each is printed by the built program with a saved profile, and done; then its error is gone.
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import parseArgv from 'string-argv';
import { afterEach, expect, test } from 'vitest';
import type { FakeResponse, HttpFake, ReceivedRequest } from '../support/http-fake.ts';
import { errorResponse, startHttpFake } from '../support/http-fake.ts';
import type { Outcome, Place } from '../support/processes.ts';
import { place } from '../support/processes.ts';
import { petstore } from '../support/program.ts';
import { inProcess } from '../support/world.ts';

const GOOD = 'sk_secret_good_0123456789';
const BAD = 'sk_secret_bad_0123456789';

/** A service that accepts one key and keeps its categories; a test can override its responses. */
class Shop {
  readonly created: { id: number; name: string }[] = [];
  override: ((request: ReceivedRequest, create: () => FakeResponse) => FakeResponse | undefined) | undefined;
  fake: HttpFake | undefined;

  readonly #respond = async (request: ReceivedRequest): Promise<FakeResponse> => {
    const create = (): FakeResponse => {
      const category = { id: this.created.length + 1, name: (JSON.parse(request.body) as { name: string }).name };
      this.created.push(category);
      return { status: 201, body: category };
    };
    const override = this.override?.(request, create);
    if (override) return override;
    if (request.headers.authorization !== `Bearer ${GOOD}`) return errorResponse(401, 'unauthorized', 'No.');
    if (request.path !== '/v1/categories') return errorResponse(404, 'not_found', 'No such path.');
    return request.method === 'POST' ? create() : { body: this.created };
  };

  async open(): Promise<void> {
    this.fake = await startHttpFake(this.#respond);
  }

  get url(): string {
    return this.fake?.url ?? '';
  }
}

let shop = new Shop();
let at: Place;
afterEach(() => shop.fake?.close());

interface Row {
  readonly args: readonly string[];
  /** What is wrong. */
  readonly given?: () => Promise<unknown> | unknown;
  readonly env?: Readonly<Record<string, string>>;
  readonly code: number;
  /** The whole hint; `PORT` stands for the port of the service. */
  readonly hint: string;
  /** Does what the hint says, unless it names a command, which is run as printed. */
  readonly follow?: () => unknown;
  /** The output of the hint's command, if it only looks for the cause; otherwise the command that failed now succeeds. */
  readonly shows?: RegExp;
  /** The arguments of the second run, if the hint changes them or its command is the corrected one. */
  readonly again?: readonly string[];
}

const LIST = ['categories', 'list', '-p', 'staging'];
const CREATE = ['categories', 'create', '--name', 'guinea pig', '-p', 'staging'];
const EXISTS = 'to check whether the category exists before you retry';
const LOOKUP = `run \`petstore categories list --search 'guinea pig' -p staging\` ${EXISTS}`;
const lose: Shop['override'] = ({ method }, create) => {
  if (method !== 'POST') return undefined;
  create();
  return 'reset';
};
const PRINT_KEY = `'${process.execPath}' print.cjs`;
const write = (name: string, text: string): void => writeFileSync(join(at.dir, name), text);
const writeKey = (value: string): void => write('print.cjs', `console.log('${value}')`);
const damage = (name: RegExp): void => {
  const file = readdirSync(join(at.dir, 'config')).find((one) => name.test(one)) ?? 'active.json';
  write(join('config', file), '{"damaged');
};
const saveBad = () => login(['--no-verify'], BAD);

const ROWS: Readonly<Record<string, Row>> = {
  'a wrong PETSTORE_API_KEY': {
    args: ['categories', 'list'],
    env: { PETSTORE_API_KEY: BAD },
    code: 3,
    hint: 'set PETSTORE_API_KEY to a valid key',
    follow: () => Object.assign(at.env, { PETSTORE_API_KEY: GOOD }),
  },
  'a wrong PETSTORE_API_KEY, found by doctor': {
    args: ['doctor'],
    env: { PETSTORE_API_KEY: BAD },
    code: 3,
    hint: 'set PETSTORE_API_KEY to a valid key',
    follow: () => Object.assign(at.env, { PETSTORE_API_KEY: GOOD }),
  },
  'a wrong key in the typed profile': {
    args: CREATE,
    given: saveBad,
    code: 3,
    hint: 'run `petstore auth login -p staging` to save a valid key',
  },
  'a wrong key in the active profile': {
    args: ['categories', 'import', 'rows.csv', '--yes'],
    given: () => [saveBad(), write('rows.csv', 'name\ndog\n')],
    code: 3,
    hint: 'run `petstore auth login -p staging` to save a valid key',
  },
  "a wrong key from the profile's key command": {
    args: ['quota', '--refresh', '-p', 'staging'],
    given: () => [writeKey(BAD), login(['--no-verify', '--key-command', PRINT_KEY])],
    code: 3,
    hint: 'make the key command from profile "staging" print a valid key',
    follow: () => writeKey(GOOD),
  },
  'a wrong key from PETSTORE_API_KEY_COMMAND': {
    args: ['api', 'GET', 'categories'],
    given: () => writeKey(BAD),
    env: { PETSTORE_API_KEY_COMMAND: PRINT_KEY },
    code: 3,
    hint: 'make the key command from PETSTORE_API_KEY_COMMAND print a valid key',
    follow: () => writeKey(GOOD),
  },
  'a profile without a key': {
    args: LIST,
    given: () => inProcess(['auth', 'logout', '-p', 'staging'], { dir: at.dir }),
    code: 3,
    hint: 'run `petstore auth login -p staging`',
  },
  'a profile without a base URL': {
    args: ['categories', 'list', '-p', 'production'],
    code: 3,
    hint: 'run `petstore auth login -p production --url https://HOST/v1`',
  },
  'an unknown profile': {
    args: ['categories', 'list', '-p', 'warehouse'],
    code: 2,
    hint: 'run `petstore auth login -p warehouse --url https://HOST/v1` to create it',
  },
  'a mistyped profile': {
    args: ['categories', 'list', '-p', 'stagin'],
    code: 2,
    hint: 'did you mean "staging"?',
    again: LIST,
  },
  'a logout from an unknown profile': {
    args: ['auth', 'logout', '-p', 'warehouse'],
    code: 2,
    hint: 'run `petstore auth status` to list the profiles',
    shows: /staging/,
  },
  'a login without a base URL': {
    args: ['auth', 'login', '-p', 'ci'],
    code: 3,
    hint: 'run `petstore auth login -p ci --url https://HOST/v1`',
  },
  'a login to the sandbox': {
    args: ['auth', 'login', '-p', 'sandbox'],
    code: 2,
    hint: 'run `petstore categories list -p sandbox`',
    shows: /No categories found/,
  },
  'a damaged profile': {
    args: LIST,
    given: () => damage(/staging/),
    code: 9,
    hint: 'run `petstore auth logout -p staging --delete` to delete the file, then log in again',
    follow: () => undefined,
    shows: /Deleted profile "staging"/,
  },
  'a damaged active.json beside a damaged profile': {
    args: ['auth', 'status'],
    given: () => [damage(/staging/), write('config/active.json', '{"damaged')],
    code: 9,
    hint: 'run `petstore auth switch production` to set the active profile again',
    shows: /Profile "production" is now active/,
  },
  'a key command whose program is missing': {
    args: LIST,
    given: () => login(['--no-verify', '--key-command', 'no-such-program']),
    code: 3,
    hint: 'install `no-such-program`, or correct the key command',
    follow: () => login(),
  },
  'a state directory that cannot be created': {
    args: ['categories', 'list', '-p', 'sandbox'],
    given: () => write('file', ''),
    env: { PETSTORE_STATE_DIR: 'file/state' },
    code: 9,
    hint: 'set PETSTORE_STATE_DIR to a directory that you can write to',
    follow: () => Object.assign(at.env, { PETSTORE_STATE_DIR: join(at.dir, 'state') }),
  },
  'a create whose response is lost': {
    args: CREATE,
    given: () => (shop.override = lose),
    code: 8,
    hint: LOOKUP,
    shows: /guinea pig/,
  },
  'a raw create whose response is lost': {
    args: ['api', 'POST', 'categories', '-d', '{"name":"guinea pig"}', '-p', 'staging'],
    given: () => (shop.override = lose),
    code: 8,
    hint: LOOKUP,
    shows: /guinea pig/,
  },
  'an import whose responses are lost': {
    args: ['categories', 'import', 'my rows.csv', '-p', 'staging', '--max-retries', '0'],
    given() {
      write('my rows.csv', 'name\ncat\ndog\n');
      shop.override = (request, create) =>
        lose(request, create) ?? (shop.created.length > 0 ? errorResponse(500, 'failed', 'No.') : undefined);
    },
    code: 8,
    hint: "run `petstore categories import 'my rows.csv' --max-retries 0 -p staging` to look them up again",
    shows: /Created 0, skipped 2/,
  },
  'an unreachable service': {
    args: [...LIST, '--max-retries', '0'],
    given: () => shop.fake?.close(),
    code: 6,
    hint: 'run `petstore doctor -p staging` to check the connection',
    shows: /connection refused \(TCP\)\s+hint: check the host and port in the base URL/,
  },
  'a base URL without categories': {
    args: LIST,
    given: () => (shop.override = () => errorResponse(404, 'not_found', 'No such path.')),
    code: 4,
    hint: 'run `petstore auth status -p staging` to check the base URL',
    shows: /staging +http:\/\/127.0.0.1:\d+\/v1/,
  },
  'an HTML page instead of a list': {
    args: LIST,
    given: () => (shop.override = () => ({ body: '<html>', headers: { 'content-type': 'text/html' } })),
    code: 7,
    hint: 'run `petstore auth status -p staging` to check the base URL',
    shows: /staging +http:\/\/127.0.0.1:\d+\/v1/,
  },
  'a timeout': {
    args: [...LIST, '--timeout', '200ms', '--max-retries', '0'],
    given: () => (shop.override = () => 'silence'),
    code: 6,
    hint: 'try again with a longer --timeout',
    follow: () => (shop.override = undefined),
    again: [...LIST, '--timeout', '10s'],
  },
  'a mistyped command': { args: ['categoris', 'list'], code: 2, hint: 'did you mean `petstore categories list`?' },
  'a command in place of its group': { args: ['whoami'], code: 2, hint: 'did you mean `petstore auth status`?' },
  'a name without its option': {
    args: ['-p', 'staging', 'categories', 'create', 'guinea pig', '--description', 'x'],
    code: 2,
    hint: "did you mean `petstore -p staging categories create --name 'guinea pig' --description x`?",
  },
  'a path without its method': {
    args: ['api', 'categories'],
    code: 2,
    hint: 'did you mean `petstore api GET categories`?',
  },
  'a path with the version': {
    args: ['api', 'GET', '/v1/categories', '-p', 'staging'],
    code: 4,
    hint: 'did you mean `petstore api GET categories -p staging`?',
  },
  'a body from a file': {
    args: ['api', 'POST', 'categories', '-d', '@my dog.json'],
    given: () => write('my dog.json', '{"name":"dog"}'),
    code: 2,
    hint: "to read the body from a file, use `--input 'my dog.json'`",
    again: ['api', 'POST', 'categories', '--input', 'my dog.json'],
  },
  'an unknown option': {
    args: [...LIST, '--zzz'],
    code: 2,
    hint: 'see `petstore categories list --help`',
    shows: /Usage: petstore categories list/,
  },
};

function login(options: readonly string[] = [], stdin = GOOD) {
  return inProcess(['auth', 'login', '-p', 'staging', '--url', shop.url, ...options], { dir: at.dir, stdin });
}

/** Runs the command that a hint names, as printed, with a valid key on stdin. */
async function run(hint: string): Promise<Outcome | undefined> {
  const command = /`petstore ([^`]+)`/.exec(hint)?.[1]?.replace('https://HOST/v1', shop.url);
  return command === undefined ? undefined : petstore(at, parseArgv(command), GOOD);
}

test.each(Object.entries(ROWS))('the hint about %s, followed, ends the error', async (_what, row) => {
  shop = new Shop();
  await shop.open();
  at = place();
  await login();
  await inProcess(['auth', 'switch', 'staging'], { dir: at.dir });
  await Promise.all([await row.given?.()].flat());
  Object.assign(at.env, row.env);
  const failed = await petstore(at, row.args);
  const hint = /hint: (.*)/.exec(failed.out + failed.err)?.[1] ?? '';
  expect([failed.code, hint]).toEqual([row.code, row.hint]);

  // Lost responses do not recur; any other failure lasts until the hint is followed.
  if (row.code === 8) shop.override = undefined;
  await row.follow?.();
  const done = await run(hint);
  if (row.shows) expect(`${done?.out}${done?.err}`).toMatch(row.shows);
  else if (hint.startsWith('did you mean `')) expect(done).toMatchObject({ code: 0 });
  else expect(await petstore(at, row.again ?? row.args, GOOD)).toMatchObject({ code: 0 });
  const names = shop.created.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
});
