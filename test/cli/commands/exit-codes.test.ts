// Besides 0, the help of each command lists exactly the exit codes of its failures.
import { afterAll, expect, test } from 'vitest';
import { describeCommands } from '../../../src/cli/commands/help.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { PetstoreError } from '../../../src/errors.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { errorResponse, startHttpFake } from '../../support/http-fake.ts';
import type { WorldOptions } from '../../support/world.ts';
import { inProcess, world } from '../../support/world.ts';

const KEY = 'sk_test_Abcdef0123456789';
const NO_PORT = 'http://127.0.0.1:1/v1';

let fails = (_method: string): number | undefined => undefined;
const service = await startHttpFake(({ method }) => {
  const status = fails(method);
  return status === undefined ? { body: [] } : errorResponse(status, 'code', 'No.', { 'retry-after': '60' });
});
afterAll(service.close);

const interrupted = AbortSignal.abort(new PetstoreError('interrupted', 'interrupted', { exitCode: 130 }));

async function codeOf(line: string, { env, ...options }: WorldOptions = {}, url = service.url): Promise<number> {
  const { code } = await inProcess(`${line.replace('URL', url)} --max-wait 0 --max-retries 0`.split(' '), {
    env: { PETSTORE_BASE_URL: url, PETSTORE_API_KEY: KEY, ...env },
    stdin: line.includes('login') ? KEY : '{"name":"dog"}',
    clock: new FakeClock(),
    // The sandbox runs until it is interrupted.
    ...(line.startsWith('sandbox') && { signal: interrupted }),
    ...options,
  });
  return code;
}

// A file cannot be a directory.
const NO_DIRECTORIES = { PETSTORE_CONFIG_DIR: import.meta.filename, PETSTORE_STATE_DIR: import.meta.filename };

/** Each runs a command line in a situation that makes some commands fail, and returns its exit code. */
const SITUATIONS: readonly ((line: string) => Promise<number>)[] = [
  (line) => codeOf(`${line} --bogus`),
  ...[302, 401, 403, 429, 500].map((status) => (line: string) => {
    fails = () => status;
    return codeOf(line);
  }),
  (line) => {
    fails = (method) => (method === 'GET' ? undefined : 500);
    return codeOf(line);
  },
  (line) => codeOf(line, {}, NO_PORT),
  (line) => codeOf(/auth|sandbox|completion/.test(line) ? line : `${line} -p production`, { env: NO_DIRECTORIES }),
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
  'besides 0, the help of `petstore %s` lists exactly the exit codes of its failures: %j',
  async (path, exitCodes) => {
    const found = new Set<number>();
    for (const situation of SITUATIONS) found.add(await situation(LINES[path] ?? path));
    found.delete(0);
    expect([...found].sort((a, b) => a - b)).toEqual(exitCodes);
  },
);
