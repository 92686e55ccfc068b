// Hints that name a command: each is provoked by a run, followed literally, and checked for its effect.
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import parseArgv from 'string-argv';
import { afterEach, expect, test } from 'vitest';
import { PetstoreError } from '../../src/errors.ts';
import type { FakeResponse, HttpFake, ReceivedRequest } from '../support/http-fake.ts';
import { errorResponse, startHttpFake } from '../support/http-fake.ts';
import { tempDir } from '../support/temp-dir.ts';
import { inProcess } from '../support/world.ts';

const OLD_KEY = 'sk_secret_old_0123456789';
const NEW_KEY = 'sk_secret_new_0123456789';

/** A service that keeps its categories; a test can override its responses. */
class Shop {
  readonly created: { id: number; name: string }[] = [];
  /** Overrides a response unless it returns undefined. */
  override: ((request: ReceivedRequest, create: () => FakeResponse) => FakeResponse | undefined) | undefined;
  fake: HttpFake | undefined;

  readonly #respond = (request: ReceivedRequest): FakeResponse => {
    const create = (): FakeResponse => {
      const category = { id: this.created.length + 1, name: (JSON.parse(request.body) as { name: string }).name };
      this.created.push(category);
      return { status: 201, body: category };
    };
    const override = this.override?.(request, create);
    if (override) return override;
    if (!/^\/(?:old|new)\/v1\/categories$/.test(request.path)) return errorResponse(404, 'not_found', 'No such path.');
    return request.method === 'POST' ? create() : { body: this.created };
  };

  async open(): Promise<void> {
    this.fake = await startHttpFake(this.#respond);
  }

  get url(): string {
    return `${this.fake?.origin}/old/v1`;
  }
}

let shop = new Shop();
afterEach(() => shop.fake?.close());

interface Provocation {
  readonly args: readonly string[];
  readonly env?: (shop: Shop) => Record<string, string>;
  readonly code: number;
  /** Overrides the responses to the run. */
  readonly override?: Shop['override'];
  readonly before?: (dir: string, shop: Shop) => Promise<unknown> | unknown;
  /** Aborts the run after the service has received a create. */
  readonly interrupt?: true;
  /** Each command of the hint with its exit code and output; `HOST`, `PORT` and `PROFILE` are replaced. */
  readonly followUps: readonly (readonly [command: string, code: number, shows: RegExp])[];
}

const LIST = ['categories', 'list', '-p', 'staging'];
const CREATE = ['categories', 'create', '--name', 'guinea pig', '-p', 'staging'];
const LOOKUP = ["categories list --search 'guinea pig' -p staging", 0, /guinea pig/] as const;
const IMPORT = ['categories', 'import', 'my rows.csv', '-p', 'staging', '--max-retries', '0'];
const lost: Shop['override'] = ({ method }, create) => {
  if (method !== 'POST') return undefined;
  create();
  return 'reset';
};
const withRows = (dir: string): void => writeFileSync(join(dir, 'my rows.csv'), 'name\ncat\ndog\n');
const configFile = (dir: string): string => {
  const names = readdirSync(join(dir, 'config'), { recursive: true, encoding: 'utf8' });
  return join(dir, 'config', names.find((name) => /staging/.test(name)) ?? '');
};

const PROVOCATIONS: Readonly<Record<string, Provocation>> = {
  'a create whose response is lost': {
    args: CREATE,
    override: lost,
    code: 8,
    followUps: [LOOKUP],
  },
  'a raw create whose response is lost': {
    args: ['api', 'POST', 'categories', '-d', '{"name":"guinea pig"}', '-p', 'staging'],
    override: lost,
    code: 8,
    followUps: [LOOKUP],
  },
  'an interrupted create': {
    args: CREATE,
    override: ({ method }, create) => (method === 'POST' && create() ? 'silence' : undefined),
    interrupt: true,
    code: 130,
    followUps: [LOOKUP],
  },
  'an unreachable service': {
    args: [...LIST, '--max-retries', '0'],
    before: (_dir, { fake }) => fake?.close(),
    code: 6,
    followUps: [['doctor -p staging', 6, /ECONNREFUSED|connection refused/]],
  },
  'a rejected key': {
    args: LIST,
    override: ({ headers }) =>
      headers.authorization === `Bearer ${OLD_KEY}` ? errorResponse(401, 'unauthorized', 'No.') : undefined,
    code: 3,
    followUps: [['auth login -p staging', 0, /staging/]],
  },
  'a base URL without categories': {
    args: LIST,
    override: () => errorResponse(404, 'not_found', 'No such path.'),
    code: 4,
    followUps: [['auth status -p staging', 0, /\/old\/v1/]],
  },
  'an HTML page instead of a list': {
    args: LIST,
    override: () => ({ body: '<html>Sign in</html>', headers: { 'content-type': 'text/html' } }),
    code: 7,
    followUps: [['auth status -p staging', 0, /\/old\/v1/]],
  },
  'a mistyped command': {
    args: ['-p', 'staging', 'categories', 'lst'],
    code: 2,
    followUps: [['categories list -p staging', 0, /No categories found/]],
  },
  'a name without its option': {
    args: ['-p', 'staging', 'categories', 'create', 'guinea pig'],
    code: 2,
    followUps: [["-p staging categories create --name 'guinea pig'", 0, /Created category "guinea pig"/]],
  },
  'a path without its method': {
    args: ['-p', 'staging', 'api', 'categories'],
    code: 2,
    followUps: [['-p staging api GET categories', 0, /^\[\]/]],
  },
  'an unknown option': {
    args: ['-p', 'staging', 'categories', 'list', '--zzz'],
    code: 2,
    followUps: [['categories list --help', 0, /Usage: petstore categories list/]],
  },
  'a damaged profile file': {
    args: LIST,
    before: (dir) => writeFileSync(configFile(dir), '{"damaged'),
    code: 9,
    followUps: [['auth logout -p staging --delete', 0, /staging/]],
  },
  'a damaged active.json': {
    args: ['categories', 'list'],
    before: (dir) => writeFileSync(join(dir, 'config', 'active.json'), '{"damaged'),
    code: 9,
    followUps: [['auth switch PROFILE', 2, /other/]],
  },
  'a profile without a base URL': {
    args: ['categories', 'list', '-p', 'production'],
    code: 3,
    followUps: [['auth login -p production --url https://HOST/v1', 0, /production/]],
  },
  'a profile without a key': {
    args: LIST,
    before: (dir) => petstore(dir, ['auth', 'logout', '-p', 'staging']),
    code: 3,
    followUps: [['auth login -p staging', 0, /staging/]],
  },
  'an unknown profile': {
    args: ['categories', 'list', '-p', 'warehouse'],
    code: 2,
    followUps: [['auth login -p warehouse', 3, /--url/]],
  },
  'a login without a base URL': {
    args: ['auth', 'login', '-p', 'ci'],
    code: 3,
    followUps: [['auth login -p ci --url https://HOST/v1', 0, /ci/]],
  },
  'a login to the sandbox': {
    args: ['auth', 'login', '-p', 'sandbox'],
    code: 2,
    followUps: [['categories list -p sandbox', 0, /No categories found/]],
  },
  'a logout from the sandbox': {
    args: ['auth', 'logout', '-p', 'sandbox'],
    code: 2,
    followUps: [['auth logout -p PROFILE', 2, /other/]],
  },
  'a login while another profile is active': {
    args: ['auth', 'login', '-p', 'ci', '--url', 'HOST/old/v1'],
    code: 0,
    followUps: [['auth switch ci', 0, /ci/]],
  },
  'an import whose responses are lost': {
    args: IMPORT,
    before: withRows,
    override: ({ method }, create) => {
      if (method === 'GET') return shop.created.length > 0 ? errorResponse(500, 'failed', 'No.') : undefined;
      create();
      return 'reset';
    },
    code: 8,
    followUps: [["categories import 'my rows.csv' --max-retries 0 -p staging", 0, /Created 0, skipped 2/]],
  },
};

async function petstore(dir: string, args: readonly string[], env: Record<string, string> = {}, signal?: AbortSignal) {
  return inProcess(args, { dir, env, stdin: `${NEW_KEY}\n`, ...(signal && { signal }) });
}

// Returns the commands in backquotes without `petstore`.
function commandsIn(text: string): string[] {
  return [...text.matchAll(/`petstore ([^`]+)`/g)].map(([, command = '']) => command);
}

function filled(command: string): string[] {
  const { origin = '', port } = shop.fake ?? {};
  const text = command.replace('https://HOST/v1', `${origin}/old/v1`).replace('HOST', origin);
  return parseArgv(text.replace('PORT', String(port)).replace('PROFILE', 'other'));
}

test.each(Object.entries(PROVOCATIONS))(
  'each command in the hint about %s has the promised effect',
  async (_what, provocation) => {
    shop = new Shop();
    await shop.open();
    const dir = tempDir();
    const login = ['auth', 'login', '-p', 'staging', '--url', shop.url];
    await inProcess(login, { dir, stdin: OLD_KEY });
    await provocation.before?.(dir, shop);
    const abort = new AbortController();
    shop.override = (request, create) => {
      const response = provocation.override?.(request, create);
      const reason = new PetstoreError('interrupted', 'interrupted');
      if (provocation.interrupt && request.method === 'POST') setTimeout(() => abort.abort(reason), 20);
      return response;
    };
    const args = provocation.args.flatMap((arg) => (/\s/.test(arg) ? [arg] : filled(arg)));
    const first = await petstore(dir, args, provocation.env?.(shop), abort.signal);
    expect(first).toMatchObject({ code: provocation.code });
    const { port } = shop.fake ?? {};
    const commands = commandsIn(first.out + first.err.replaceAll(`:${port}/`, ':PORT/'));
    const expected = provocation.followUps.map(([command]) => command);
    expect(commands.map((command) => command.replace('http://127.0.0.1:PORT', 'HOST'))).toEqual(expected);

    // Lost responses do not recur; any other failure continues until the hint is followed.
    if (provocation.code === 8 || provocation.interrupt) shop.override = undefined;
    for (const [command, code, shows] of provocation.followUps) {
      const run = await petstore(dir, filled(command));
      expect(run, command).toMatchObject({ code });
      expect(run.out + run.err).toMatch(shows);
    }
    const names = shop.created.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  },
);
