// `petstore doctor`: each check with its hint, and the exit code of the first that fails.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkClock } from '../../src/commands/doctor.ts';
import { hasModes, hasMounts } from '../support/capabilities.ts';
import { startHttpFake } from '../support/http-fake.ts';
import { place } from '../support/processes.ts';
import { BIN } from '../support/program.ts';
import { hasStateServer, RedisServer } from '../support/redis-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { inProcess } from '../support/world.ts';

interface Check {
  readonly id: string;
  readonly label: string;
  readonly status: string;
  readonly detail: string;
  readonly hint?: string;
}

async function doctor(env: Record<string, string>, args: readonly string[] = [], dir = tempDir()) {
  const { code, out, err } = await inProcess(['doctor', '--json', ...args], { env, dir });
  const checks = JSON.parse(out) as Check[];
  const failed = checks.filter(({ status }) => status === 'failed');
  return { code, out, err, failed, checks, of: (id: string) => checks.find((check) => check.id === id) };
}

const KEY = { PETSTORE_API_KEY: 'sk_secret_0123456789abcdef' };

async function serving(status: number, body: unknown = []): Promise<Record<string, string>> {
  const { url, close } = await startHttpFake(() => ({ status, body }));
  onTestFinished(close);
  return { ...KEY, PETSTORE_BASE_URL: url };
}

function withFile(name: string, text: string): string {
  const dir = tempDir();
  mkdirSync(join(dir, 'config'), { mode: 0o700 });
  writeFileSync(join(dir, 'config', name), text, { mode: 0o600 });
  return dir;
}

test('doctor --json prints the checks of a healthy setup with documented ids, and creates no directory', async () => {
  const dir = tempDir();
  const { code, checks, err } = await doctor(await serving(200), [], dir);
  expect([code, err]).toEqual([0, '']);
  expect(checks.map(({ id, label }) => [id, label])).toEqual([
    ['node', 'Node'],
    ['config', 'Config'],
    ['state', 'State'],
    ['profile', 'Profile'],
    ['base_url', 'Base URL'],
    ['proxy', 'Proxy'],
    ['connection', 'Connection'],
    ['api_key', 'API key'],
    ['clock', 'Clock'],
  ]);
  for (const check of checks) {
    expect(check).toEqual({ id: check.id, label: check.label, status: check.status, detail: expect.any(String) });
  }
  expect(existsSync(join(dir, 'config'))).toBe(false);
});

const AT = (url: string) => ({ ...KEY, PETSTORE_BASE_URL: url });
const PROXIED = (proxy: string) => ({ ...AT('https://pets.example/v1'), HTTPS_PROXY: proxy });

test.each([
  [{}, [], 3, 'base_url', 'profile "production" has no base URL', 'petstore auth login -p production --url'],
  [{}, ['-p', 'prodction'], 2, 'profile', 'available profiles: "production", "staging"', 'did you mean "production"?'],
  [AT('http://127.0.0.1:9/v1'), [], 6, 'connection', 'connection refused (TCP)', 'check the host and port'],
  [AT('https://nowhere.invalid/v1'), [], 6, 'connection', 'could not be resolved (DNS)', 'check the host name'],
  [PROXIED('http://127.0.0.1:9'), [], 6, 'connection', 'cannot connect to proxy 127.0.0.1:9', ''],
  [PROXIED('ftp://proxy'), [], 2, 'proxy', 'HTTPS_PROXY', ''],
])('doctor with %j %j exits with %i and one failed check, %s: %s', async (env, args, exitCode, id, detail, hint) => {
  const { code, failed, err } = await doctor(env, args);
  const failure = { id, detail: expect.stringContaining(detail), hint: expect.stringContaining(hint) };
  expect([code, failed]).toEqual([exitCode, [expect.objectContaining(failure)]]);
  expect(JSON.parse(err).error.message).toBe(`1 of 9 checks failed: ${failed[0]?.label}`);
});

test.each([
  [401, { code: 'unauthorized', message: 'No.', status: 401 }, 3, 'api_key'],
  [200, '<html>', 7, 'connection'],
  [200, '[{"id":"x"}]', 7, 'connection'],
])('doctor after the response %i %j exits with %i and fails only the check %s', async (status, body, exitCode, id) => {
  const { code, out, err, failed, of } = await doctor(await serving(status, body));
  expect([code, failed.map((check) => check.id), of('clock')?.status]).toEqual([exitCode, [id], 'ok']);
  expect(out + err).not.toContain(KEY.PETSTORE_API_KEY);
});

test('doctor reports a server without TLS as one failure at TLS, with a hint to check https', async () => {
  const { PETSTORE_BASE_URL = '' } = await serving(200);
  const { code, failed } = await doctor(AT(PETSTORE_BASE_URL.replace('http:', 'https:')));
  const detail = expect.stringMatching(/ \(TLS\)$/);
  const failure = { id: 'connection', detail, hint: expect.stringContaining('serves https') };
  expect([code, failed]).toEqual([6, [expect.objectContaining(failure)]]);
});

test('doctor reports a failing key command once, by the API key check', async () => {
  const { PETSTORE_BASE_URL = '' } = await serving(200);
  const env = { PETSTORE_BASE_URL, PETSTORE_API_KEY_COMMAND: 'no-such-program --token abc' };
  const { code, failed, of } = await doctor(env);
  expect([code, failed.map(({ id }) => id), of('connection')?.detail]).toEqual([3, ['api_key'], 'needs an API key']);
  expect(failed[0]?.detail).not.toContain('abc');
});

test('doctor reports an empty PETSTORE_API_KEY at the API key check, not as a problem of the saved URL', async () => {
  const { PETSTORE_BASE_URL: url = '' } = await serving(200);
  const dir = withFile('profile-production.json', JSON.stringify({ url }));
  const { code, failed, of } = await doctor({ PETSTORE_API_KEY: '' }, [], dir);
  expect([code, failed.map(({ id }) => id), of('base_url')?.detail]).toEqual([3, ['api_key'], url]);
});

test('doctor reports a damaged profile as one failure and does not change it', async () => {
  const dir = withFile('profile-staging.json', '{"key": "sk_secret_');
  const { code, out, failed } = await doctor({}, ['-p', 'staging'], dir);
  expect([code, failed.map(({ id }) => id)]).toEqual([9, ['profile']]);
  expect(out).not.toContain('sk_secret_');
  expect(readFileSync(join(dir, 'config', 'profile-staging.json'), 'utf8')).toBe('{"key": "sk_secret_');
});

test('doctor reports config and state directories that cannot be written, each with its variable', async () => {
  const file = join(tempDir(), 'file');
  writeFileSync(file, '');
  const env = { PETSTORE_CONFIG_DIR: join(file, 'config'), PETSTORE_STATE_DIR: join(file, 'state') };
  const { code, of } = await doctor(env);
  expect(code).toBe(9);
  for (const id of ['config', 'state']) {
    const hint = `set PETSTORE_${id.toUpperCase()}_DIR to a directory that you can write to`;
    expect(of(id)).toMatchObject({ status: 'failed', hint });
  }
});

test.runIf(hasMounts)('doctor reports a full disk, with the hint to free disk space', () => {
  const at = place();
  const fill = `mount -t tmpfs -o size=64k,mode=700 tmpfs "$0"; cd "$0"; mkdir -m 700 config state; cat /dev/zero > fill`;
  const script = `${fill} 2>/dev/null; exec "$@"`;
  for (const [args, ids] of [
    [[], ['config', 'state']],
    [['-p', 'sandbox'], ['state']],
  ] as const) {
    const command = ['-rm', 'sh', '-c', script, at.dir, process.execPath, BIN, 'doctor', '--json', ...args];
    const { status, stdout } = spawnSync('unshare', command, { env: at.env, encoding: 'utf8' });
    const full = (JSON.parse(stdout) as Check[]).filter((one) => one.hint === 'free some disk space');
    expect([status, full.map(({ id }) => id)]).toEqual([9, ids]);
  }
});

test.runIf(hasModes)('doctor warns of a directory that others can read, until its hint is followed', async () => {
  const dir = withFile('profile-farm.json', '{}');
  chmodSync(join(dir, 'config'), 0o755);
  const hint = `run \`chmod -R go= ${join(dir, 'config')}\``;
  expect((await doctor({}, [], dir)).of('config')).toMatchObject({ status: 'warning', hint });
  chmodSync(join(dir, 'config'), 0o700);
  expect((await doctor({}, [], dir)).of('config')).toMatchObject({ status: 'ok' });
});

test('doctor reports an unavailable state server as one failure, and its hint does not name doctor', async () => {
  const { code, failed } = await doctor({ ...(await serving(200)), PETSTORE_STATE_URL: 'redis://127.0.0.1:9' });
  const failure = { id: 'state_server', hint: 'start the state server, or correct PETSTORE_STATE_URL' };
  expect([code, failed]).toEqual([9, [expect.objectContaining(failure)]]);
});

test.runIf(hasStateServer)('doctor shows a state server, and warns if it may evict keys', async () => {
  const check = async (...args: string[]) => {
    await using server = await RedisServer.start({ args });
    return (await doctor({ ...(await serving(200)), PETSTORE_STATE_URL: server.url })).of('state_server');
  };
  const evicting = await check('--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru');
  expect(evicting).toMatchObject({ status: 'warning', hint: expect.stringContaining('noeviction') });
  expect(evicting?.detail).toContain('allkeys-lru');
  expect(await check()).toMatchObject({ status: 'ok', detail: expect.stringMatching(/:\d+ responded without TLS$/) });
});

test.each([
  [0, 'ok'],
  [4000, 'ok'],
  [90_000, 'warning'],
  [-90_000, 'warning'],
  [undefined, 'skipped'],
])('the clock check for an offset of %s ms is "%s"', (off, status) => {
  const theirs = Date.parse('2026-11-21T12:00:00Z');
  const at = theirs + 500 + (off ?? 0);
  const headers = off === undefined ? {} : { date: new Date(theirs).toUTCString() };
  expect(checkClock({ headers, sentAt: at, receivedAt: at }).status).toBe(status);
});

test('doctor prints checks and hints as a table, and its error does not repeat them', async () => {
  const { out, err } = await inProcess(['doctor']);
  expect(out).toMatch(/^STATUS {3}CHECK {7}DETAIL\nok {7}Node {8}\d+/);
  expect(out).toMatch(/\nfailed {3}Base URL {4}.*\n {21}hint: run `petstore auth login/);
  expect(err).toBe('error: 1 of 9 checks failed: Base URL\n');
});
