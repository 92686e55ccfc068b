// The exit codes in the help of each command are those that it ends with if something is wrong.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { describeCommands } from '../../src/commands/help.ts';
import { PetstoreError } from '../../src/errors.ts';
import { createProgram } from '../../src/program.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { errorResponse, startHttpFake } from '../support/http-fake.ts';
import { tempDir } from '../support/temp-dir.ts';
import type { WorldOptions } from '../support/world.ts';
import { inProcess, world } from '../support/world.ts';

let status = 200;
let readsFail = true;
let url = '';
const KEY = 'sk_test_Abcdef0123456789';
const REFUSED = 'http://127.0.0.1:1/v1';

beforeAll(async () => {
  const service = await startHttpFake(({ method }) =>
    method === 'GET' && !readsFail ? { body: [] } : errorResponse(status, 'code', 'No.', { 'retry-after': '60' }),
  );
  url = service.url;
  return service.close;
});

const interrupted = AbortSignal.abort(new PetstoreError('interrupted', 'interrupted', { exitCode: 130 }));

/** Runs a command line in a situation that makes some commands fail. */
type Situation = (line: string) => Promise<number>;

async function codeOf(line: string, { env, ...options }: WorldOptions = {}, baseUrl = url): Promise<number> {
  const words = line.split(' ').map((word) => (word === 'URL' ? baseUrl : word));
  const { code } = await inProcess([...words, '--max-wait', '0', '--max-retries', '0'], {
    env: { PETSTORE_BASE_URL: baseUrl, PETSTORE_API_KEY: KEY, ...env },
    stdin: line.includes('login') ? KEY : '{"name":"dog"}',
    clock: new FakeClock(),
    // The sandbox runs until it is interrupted.
    ...(line.startsWith('sandbox') && { signal: interrupted }),
    ...options,
  });
  return code;
}

const responds =
  (code: number, toReads = true): Situation =>
  (line) => {
    status = code;
    readsFail = toReads;
    return codeOf(line);
  };

async function withoutDirectories(line: string): Promise<number> {
  const dir = tempDir();
  writeFileSync(join(dir, 'file'), '');
  const broken = { PETSTORE_CONFIG_DIR: join(dir, 'file'), PETSTORE_STATE_DIR: join(dir, 'file') };
  return codeOf(/auth|sandbox|completion/.test(line) ? line : `${line} -p production`, { env: broken });
}

const SITUATIONS: readonly Situation[] = [
  (line) => codeOf(`${line} --bogus`),
  ...[302, 401, 403, 429, 500].map((code) => responds(code)),
  responds(500, false),
  (line) => codeOf(line, {}, REFUSED),
  withoutDirectories,
  (line) => codeOf(line, { signal: interrupted }),
];

const LINES: Readonly<Record<string, string>> = {
  'categories get': 'categories get dog',
  'categories create': 'categories create --name dog',
  'categories import': 'categories import - --yes',
  api: 'api POST categories --data {"name":"dog"}',
  'auth login': 'auth login --url URL',
  'auth switch': 'auth switch staging',
  quota: 'quota --refresh',
  sandbox: 'sandbox --port 0',
  completion: 'completion bash',
};

const { commands } = describeCommands(createProgram(world([])));

test.each(commands.map(({ path, exitCodes }) => [path, exitCodes] as const))(
  '`petstore %s` ends with each of the exit codes %j, and with no other',
  async (path, exitCodes) => {
    const found = new Set<number>();
    for (const situation of SITUATIONS) found.add(await situation(LINES[path] ?? path));
    found.delete(0);
    expect([...found].sort((a, b) => a - b)).toEqual(exitCodes);
  },
);
