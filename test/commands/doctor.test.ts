// `petstore doctor`: each check with its hint, one failed check for each cause, and the exit code of the first.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkClock } from '../../src/commands/doctor/checks.ts';
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

async function doctor(env: Record<string, string>, args: string[] = [], dir = tempDir()) {
  const { code, out, err } = await inProcess(['doctor', '--json', ...args], { env, dir });
  const checks = JSON.parse(out) as Check[];
  const failed = checks.filter(({ status }) => status === 'failed');
  return { code, out, err, checks, failed, of: (id: string) => checks.find((check) => check.id === id) };
}

const KEY = { PETSTORE_API_KEY: 'sk_secret_0123456789abcdef' };

async function serving(
  status: number,
  headers: Record<string, string> = {},
  body: unknown = '[]',
): Promise<Record<string, string>> {
  const response = { status, headers, body: status === 200 ? body : { code: 'unauthorized', message: 'No.', status } };
  const { url, close } = await startHttpFake(() => response);
  onTestFinished(close);
  return { ...KEY, PETSTORE_BASE_URL: url };
}

function withFile(name: string, text: string): string {
  const dir = tempDir();
  mkdirSync(join(dir, 'config'), { mode: 0o700 });
  writeFileSync(join(dir, 'config', name), text, { mode: 0o600 });
  return dir;
}

test('doctor --json prints the checks of a healthy setup with documented ids', async () => {
  const { code, checks, err } = await doctor(await serving(200));
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
});

test('doctor does not create the config and state directories', async () => {
  const dir = tempDir();
  await doctor({}, [], dir);
  expect([existsSync(join(dir, 'config')), existsSync(join(dir, 'state'))]).toEqual([false, false]);
});

test.each(['<html>', '{}', '[{"id":"x"}]'])('doctor fails the connection check for the response %s', async (body) => {
  const { code, failed, of } = await doctor(await serving(200, {}, body));
  expect([code, failed.map(({ id }) => id)]).toEqual([7, ['connection']]);
  expect([of('api_key')?.status, of('clock')?.status]).toEqual(['skipped', 'ok']);
});

test('doctor -p sandbox succeeds without a URL and a key', async () => {
  const { code, of } = await doctor({}, ['-p', 'sandbox']);
  expect(code).toBe(0);
  expect([of('base_url')?.status, of('connection')?.status]).toEqual(['skipped', 'ok']);
});

test('doctor without configuration reports only the base URL, with the hint to log in', async () => {
  const { code, err, failed, of } = await doctor({});
  expect([code, failed]).toEqual([3, [expect.objectContaining({ id: 'base_url' })]]);
  expect(failed[0]?.hint).toContain('petstore auth login');
  expect([of('config')?.status, of('connection')?.detail]).toEqual(['ok', 'Base URL failed']);
  expect(JSON.parse(err).error).toMatchObject({ kind: 'auth', message: '1 of 9 checks failed: Base URL' });
});

test('doctor with a rejected key exits with 3, reports only the key and does not show it', async () => {
  const env = await serving(401);
  const { code, out, err, failed, of } = await doctor(env);
  expect([code, failed.map(({ id }) => id), of('connection')?.status]).toEqual([3, ['api_key'], 'ok']);
  expect(out + err).not.toContain(env['PETSTORE_API_KEY']);
});

test.each([
  ['http://127.0.0.1:9/v1', 'cannot connect to 127.0.0.1:9: connection refused (TCP)'],
  ['https://nowhere.invalid/v1', 'cannot connect to nowhere.invalid: the host name could not be resolved (DNS)'],
])('doctor reports the unreachable base URL %s as one failure: %s', async (url, detail) => {
  const { code, failed } = await doctor({ ...KEY, PETSTORE_BASE_URL: url });
  expect([code, failed]).toEqual([
    6,
    [expect.objectContaining({ id: 'connection', detail: expect.stringContaining(detail) })],
  ]);
  expect(failed[0]?.hint).toMatch(/^check the host/);
});

test('doctor reports a server without TLS as one failure at TLS, with a hint to check https', async () => {
  const { PETSTORE_BASE_URL = '' } = await serving(200);
  const { code, failed } = await doctor({ ...KEY, PETSTORE_BASE_URL: PETSTORE_BASE_URL.replace('http:', 'https:') });
  expect([code, failed]).toEqual([
    6,
    [expect.objectContaining({ id: 'connection', hint: expect.stringContaining('serves https') })],
  ]);
  expect(failed[0]?.detail).toMatch(/ \(TLS\)$/);
});

test.each([
  ['http://127.0.0.1:9', 6, 'connection', 'cannot connect to proxy 127.0.0.1:9'],
  ['ftp://proxy', 2, 'proxy', 'HTTPS_PROXY'],
])('doctor with the proxy %s exits with %i and one failed check, %s', async (proxy, exitCode, id, detail) => {
  const env = { ...KEY, PETSTORE_BASE_URL: 'https://pets.example/v1', HTTPS_PROXY: proxy };
  const { code, failed } = await doctor(env);
  expect([code, failed]).toEqual([
    exitCode,
    [expect.objectContaining({ id, detail: expect.stringContaining(detail), hint: expect.any(String) })],
  ]);
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

test('doctor reports an unknown profile as one failure that lists the profiles', async () => {
  const { code, failed } = await doctor({}, ['-p', 'prodction']);
  expect([code, failed.map(({ id }) => id)]).toEqual([2, ['profile']]);
  expect(failed[0]?.detail).toContain('production');
});

test('doctor with --profile does not name the environment as a source', async () => {
  const env = await serving(200);
  const { PETSTORE_BASE_URL: url, PETSTORE_API_KEY: key } = env;
  const dir = withFile('profile-farm.json', JSON.stringify({ url, key, origin: new URL(url ?? '').origin }));
  const { code, out, of } = await doctor(env, ['-p', 'farm'], dir);
  expect([code, of('profile')?.detail]).toEqual([0, 'farm (from --profile)']);
  expect(out).not.toContain('environment');
});

test('doctor reports a damaged profile as one failure and does not change it', async () => {
  const dir = withFile('profile-staging.json', '{"key": "sk_secret_');
  const { code, out, failed } = await doctor({}, ['-p', 'staging'], dir);
  expect([code, failed.map(({ id }) => id)]).toEqual([9, ['profile']]);
  expect(out).not.toContain('sk_secret_');
  expect(readFileSync(join(dir, 'config', 'profile-staging.json'), 'utf8')).toBe('{"key": "sk_secret_');
});

test('doctor reports unwritable config and state directories as one failure', async () => {
  const file = join(tempDir(), 'file');
  writeFileSync(file, '');
  const env = { PETSTORE_CONFIG_DIR: join(file, 'config'), PETSTORE_STATE_DIR: join(file, 'state') };
  const { code, failed, of } = await doctor(env);
  expect([code, failed[0]?.id, of('state')?.detail]).toEqual([9, 'config', 'Config failed']);
  expect(failed[0]?.hint).toBe('set PETSTORE_CONFIG_DIR to a directory that you can write to');
  const repaired = await doctor({ ...(await serving(200)), PETSTORE_STATE_DIR: tempDir() });
  expect(repaired.code).toBe(0);
});

test.runIf(hasMounts)('doctor reports a full disk as one failure, with the hint to free disk space', () => {
  const at = place();
  const fill = `mount -t tmpfs -o size=64k,mode=700 tmpfs "$0"; cd "$0"; mkdir -m 700 config state; cat /dev/zero > fill`;
  const run = (...args: string[]) =>
    spawnSync(
      'unshare',
      ['-rm', 'sh', '-c', `${fill} 2>/dev/null; exec "$@"`, at.dir, process.execPath, BIN, ...args],
      {
        env: at.env,
        encoding: 'utf8',
      },
    );
  for (const [more, id] of [
    [[], 'config'],
    [['-p', 'sandbox'], 'state'],
  ] as const) {
    const { status, stdout } = run('doctor', '--json', ...more);
    const storage = (JSON.parse(stdout) as Check[]).filter(
      ({ status, detail }) => status === 'failed' && /no space left/.test(detail),
    );
    expect([status, storage]).toEqual([
      9,
      [{ id, label: expect.any(String), status: 'failed', detail: expect.any(String), hint: 'free some disk space' }],
    ]);
  }
});

test.runIf(hasModes)(
  'doctor warns of a directory that other users can read, until the command of its hint is run',
  async () => {
    const dir = withFile('profile-farm.json', '{}');
    chmodSync(join(dir, 'config'), 0o755);
    const { of } = await doctor({}, [], dir);
    const hint = `run \`chmod -R go= ${join(dir, 'config')}\``;
    expect(of('config')).toMatchObject({ status: 'warning', hint });
    chmodSync(join(dir, 'config'), 0o700);
    expect((await doctor({}, [], dir)).of('config')).toMatchObject({ status: 'ok' });
  },
);

test('doctor reports an unavailable state server as one failure, and its hint does not name doctor', async () => {
  const { code, err, failed } = await doctor({ ...(await serving(200)), PETSTORE_STATE_URL: 'redis://127.0.0.1:9' });
  expect([code, failed]).toEqual([
    9,
    [expect.objectContaining({ id: 'state_server', hint: 'start the state server, or correct PETSTORE_STATE_URL' })],
  ]);
  expect(JSON.parse(err.trim().split('\n').at(-1) ?? '').error.message).toBe('1 of 10 checks failed: State server');
});

test.runIf(hasStateServer)('doctor shows a state server, and warns if it may evict keys', async () => {
  const check = async (...args: string[]) => {
    await using server = await RedisServer.start({ args });
    return (await doctor({ ...(await serving(200)), PETSTORE_STATE_URL: server.url })).of('state_server');
  };
  const evicting = ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'];
  expect(await check(...evicting)).toMatchObject({
    status: 'warning',
    detail: expect.stringContaining('allkeys-lru'),
    hint: expect.stringContaining('noeviction'),
  });
  const detail = expect.stringMatching(/^127\.0\.0\.1:\d+ responded without TLS$/);
  expect(await check()).toMatchObject({ status: 'ok', detail });
});

test.each([
  [0, 'ok'],
  [4000, 'ok'],
  [90_000, 'warning'],
  [-90_000, 'warning'],
])('the clock check for an offset of %i ms is "%s"', (off, status) => {
  const theirs = Date.parse('2026-11-21T12:00:00Z');
  const at = theirs + 500 + off;
  const headers = { date: new Date(theirs).toUTCString() };
  expect(checkClock({ headers, sentAt: at, receivedAt: at }).status).toBe(status);
});

test('the clock check is skipped without a Date header', () => {
  expect(checkClock({ headers: {}, sentAt: 0, receivedAt: 0 }).status).toBe('skipped');
});

test('doctor prints checks and hints as a table, and its error does not repeat them', async () => {
  const { out, err } = await inProcess(['doctor']);
  expect(out).toMatch(/^STATUS {3}CHECK {7}DETAIL\nok {7}Node {8}\d+/);
  expect(out).toMatch(/\nfailed {3}Base URL {4}.*\n {21}hint: run `petstore auth login/);
  expect(err).toBe('error: 1 of 9 checks failed: Base URL\n');
});

test.each([40, 80])('no line of doctor is wider than a terminal of %i columns', async (columns) => {
  const { out } = await inProcess(['doctor'], { columns });
  const lines = out.replaceAll(/\u001b\[\d+m/g, '').split('\n');
  expect(lines.filter((line) => line.length > columns)).toEqual([]);
});
