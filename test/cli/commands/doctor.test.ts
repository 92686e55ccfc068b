// `petstore doctor`: each check with its hint, and the exit code of the first that fails.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkDirectory, checkServer } from '../../../src/cli/commands/doctor-checks.ts';
import { checkClock, connectionError } from '../../../src/cli/commands/doctor-request.ts';
import { run } from '../../../src/cli/program.ts';
import { systemClock } from '../../../src/clock.ts';
import { PetstoreError } from '../../../src/errors.ts';
import { TransportError } from '../../../src/http/types.ts';
import { StateServer } from '../../../src/shared-log/state-server.ts';
import { parseStateUrl } from '../../../src/shared-log/state-url.ts';
import { hasModes, hasMounts, needs } from '../../support/capabilities.ts';
import { errorResponse } from '../../support/http-fake.ts';
import { place } from '../../support/processes.ts';
import { BIN } from '../../support/program.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { inProcess, serving, world } from '../../support/world.ts';

type Check = Record<'id' | 'label' | 'status' | 'detail', string> & { readonly hint?: string };

const LISTED = { body: [] };

async function doctor(env: Record<string, string>, args: readonly string[] = [], dir = tempDir()) {
  const { code, out, err } = await inProcess(['doctor', '--json', ...args], { env, dir });
  const checks = JSON.parse(out) as Check[];
  const failed = checks.filter(({ status }) => status === 'failed');
  return { code, out, err, failed, checks, of: (id: string) => checks.find((check) => check.id === id) };
}

const KEY = { PETSTORE_API_KEY: 'sk_secret_0123456789abcdef' };
const at = (url: string) => ({ ...KEY, PETSTORE_BASE_URL: url });

/** A directory with a private configuration directory that contains these files. */
function withConfig(files: Readonly<Record<string, string>>): string {
  const dir = tempDir();
  mkdirSync(join(dir, 'config'), { mode: 0o700 });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, 'config', name), text, { mode: 0o600 });
  return dir;
}

test('`doctor --json` prints every check of a healthy setup without hints, and creates no configuration directory', async () => {
  const dir = tempDir();
  const { code, checks, err } = await doctor((await serving(() => LISTED)).env, [], dir);
  expect([code, err]).toEqual([0, '']);
  const ids = checks.map(({ id }) => id).join(' ');
  expect(ids).toBe('petstore node config state profile base_url proxy connection service api_key clock');
  expect(checks[0]?.detail).toBe(`1.0.0 on ${process.platform} ${process.arch}`);
  for (const check of checks) {
    expect(check).toEqual({ id: check.id, label: check.label, status: check.status, detail: expect.any(String) });
  }
  expect(existsSync(join(dir, 'config'))).toBe(false);
});

const unknownHost = () => at('https://nowhere.invalid/v1');
const withState = (state: string) => (url: string) => ({ ...at(url), PETSTORE_STATE_URL: state });
const httpAsState = (url: string) => withState(url.replace('http', 'redis').replace('/v1', ''))(url);
/** A path below a file. */
const NO_DIRECTORY = join(import.meta.filename, 'data');
const sandboxWithoutData = () => ({ PETSTORE_PROFILE: 'sandbox', PETSTORE_STATE_DIR: NO_DIRECTORY });
const named = (name: string) => () => ({ PETSTORE_PROFILE: name });
const proxied = (url: string) => ({ ...at('https://a.example/v1'), https_proxy: url, HTTPS_PROXY: 'http://unused' });
const closedProxy = () => proxied('http://ann:sk_secret_@127.0.0.1:9');
const LOGIN = 'run `petstore auth login production --url https://HOST/v1` to save a base URL and a key';
const START = 'start the state server, or correct PETSTORE_STATE_URL';
const UNAUTHORIZED = { status: 401, body: { code: 'unauthorized', message: 'No.', status: 401 } };
const FORBIDDEN = { status: 403, body: { code: 'forbidden', message: 'No.', status: 403 } };
const UNPROCESSABLE = { status: 422, body: { code: 'odd', message: `No ${KEY.PETSTORE_API_KEY}.`, status: 422 } };
const https = (url: string) => at(url.replace('http', 'https'));
const NOT_FOUND = { status: 404, body: {} };

type Row = [what: string, env: (url: string) => object, code: number, id: string, detail: string, hint: string];

// The saved profile `production` has the URL of the service and no key.
test.each<[...Row, response?: { readonly body: unknown; readonly status?: number }]>([
  ['a mistyped profile', named('stagin'), 2, 'profile', 'available profiles: "production"', 'did you mean "staging"?'],
  ['a closed port', () => at('http://127.0.0.1:9/v1'), 6, 'connection', 'refused (TCP)', 'port in PETSTORE_BASE_URL'],
  ['an unknown host', unknownHost, 6, 'connection', 'host not found (DNS)', 'check the host name in PETSTORE_BASE_URL'],
  ['https for an http service', https, 6, 'connection', ': the TLS handshake failed', 'PETSTORE_BASE_URL serves https'],
  ['a closed proxy', closedProxy, 6, 'connection', 'proxy 127.0.0.1:9', 'correct https_proxy'],
  ['an invalid proxy', () => proxied('ftp://proxy'), 2, 'proxy', 'https_proxy is not', 'http://'],
  ['a rejected key', at, 3, 'api_key', 'No.', 'set PETSTORE_API_KEY to a valid key', UNAUTHORIZED],
  ['a wrong path in the base URL', at, 4, 'service', '404', 'correct PETSTORE_BASE_URL', NOT_FOUND],
  ['a wrong path in the saved base URL', () => KEY, 4, 'service', '404', LOGIN, NOT_FOUND],
  ['a key without permission', at, 4, 'service', '(403): No.', 'plan and permissions', FORBIDDEN],
  ['a server error', at, 7, 'service', '500', 'try again later', { status: 500, body: {} }],
  ['a response that repeats the key', at, 4, 'service', '(422): No [redacted].', 'no hint', UNPROCESSABLE],
  ['a list of invalid categories', at, 7, 'service', 'invalid response', 'no hint', { body: [{ id: 'x' }] }],
  ['an empty key', () => ({ PETSTORE_API_KEY: '' }), 3, 'api_key', 'is empty', 'set PETSTORE_API_KEY'],
  ['an unusable sandbox directory', sandboxWithoutData, 9, 'state', NO_DIRECTORY, 'set PETSTORE_STATE_DIR'],
  ['a closed state server', withState('redis://127.0.0.1:9'), 9, 'state_server', '127.0.0.1:9', START],
  ['an HTTP server as the state server', httpAsState, 9, 'state_server', '127.0.0.1', 'correct PETSTORE_STATE_URL'],
])('`doctor` with %s shows one failed check', async (_what, env, exitCode, id, detail, hint, response) => {
  const { url } = await serving(() => response ?? LISTED);
  const dir = withConfig({ 'config.json': JSON.stringify({ profiles: { production: { url } } }) });
  const { code, out, err, failed, checks, of } = await doctor({ ...env(url) }, [], dir);
  expect([code, failed.map((check) => check.id)]).toEqual([exitCode, [id]]);
  expect(of(id)?.detail).toContain(detail);
  expect(of(id)?.hint ?? 'no hint').toContain(hint);
  if (response) expect(of('connection')?.detail).toMatch(/^127\.0\.0\.1:\d+ responded in \d+ms$/);
  const { error } = JSON.parse(err.trim().split('\n').at(-1) ?? '');
  expect(error.message).toBe(`1 of ${checks.length} checks failed: ${of(id)?.label}`);
  if (response) expect(of('clock')?.status).toBe('ok');
  expect(out + err).not.toContain('sk_secret_');
});

test('`doctor` names a damaged configuration file', async () => {
  const { code, failed } = await doctor({}, [], withConfig({ 'config.json': '{"key": "sk_secret_' }));
  const detail = expect.stringMatching(/config\.json" is damaged$/);
  const hint = 'correct the file, or delete it and log in again';
  expect([code, failed]).toEqual([9, [{ id: 'profile', label: 'Profile', status: 'failed', detail, hint }]]);
});

test('`doctor` shows a failed check for each unusable directory, with the variable that sets the directory', async () => {
  const { code, failed, of } = await doctor({ PETSTORE_CONFIG_DIR: NO_DIRECTORY, PETSTORE_STATE_DIR: NO_DIRECTORY });
  const hints = failed.map(({ id, hint }) => [id, hint]);
  const hint = (id: string) => [id, `set PETSTORE_${id.toUpperCase()}_DIR to a directory that you can write to`];
  const [, configHint] = hint('config');
  expect([code, hints]).toEqual([9, [hint('config'), hint('state'), ['profile', configHint]]]);
  const skipped = { status: 'skipped', detail: 'not checked: "Profile" failed' };
  for (const id of ['base_url', 'api_key']) expect(of(id)).toMatchObject(skipped);
});

test('the exit code of `doctor` is that of the first failed check', async () => {
  const { code, err } = await doctor({ PETSTORE_STATE_URL: 'redis://127.0.0.1:9', PETSTORE_PROFILE: 'nope' });
  expect([code, err]).toEqual([9, expect.stringContaining('2 of 12 checks failed: State server, Profile"')]);
});

test('after a response that is cut off, the service check of `doctor` fails, and the connection check succeeds', async () => {
  const { env } = await serving(() => (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n['));
  const { code, of } = await doctor(env);
  expect([code, of('connection')?.status, of('service')?.status]).toEqual([6, 'ok', 'failed']);
  expect(of('clock')?.detail).toBe('not checked: no response');
});

test('`doctor` without a key sends nothing and exits with code 3', async () => {
  const { url, requests } = await serving(() => LISTED);
  const { code, of } = await doctor({ PETSTORE_BASE_URL: url });
  const details = ['connection', 'service', 'clock'].map((id) => of(id)?.detail);
  expect([code, details, requests]).toEqual([3, Array(3).fill('not checked: no valid API key'), []]);
});

const SAVED = '…0001 accepted (saved)';
const COMMAND = { PETSTORE_API_KEY_COMMAND: `"${process.execPath}" -p '"command-key-0002"'` };

test.each([
  ['only saved settings', {}, '', 'production (active)', 'URL', SAVED],
  ['`-p production`', {}, '-p production', 'production (from --profile)', 'URL', SAVED],
  ['PETSTORE_PROFILE', named('farm')(), '', 'farm (from PETSTORE_PROFILE)', 'URL/farm/v1', SAVED],
  ['PETSTORE_BASE_URL', { PETSTORE_BASE_URL: 'URL' }, '', 'production (active)', 'URL (from the environment)', SAVED],
  ['PETSTORE_API_KEY', KEY, '', 'production (active)', 'URL', '…cdef accepted (from the environment)'],
  ['PETSTORE_API_KEY_COMMAND', COMMAND, '', 'production (active)', 'URL', '…0002 accepted (from a key command)'],
  ['`-p sandbox`', {}, '-p sandbox', 'sandbox (from --profile)', 'not used by the sandbox', 'not used by the sandbox'],
])('`doctor` with %s shows which profile, base URL and key are used', async (_what, env, args, profile, url, key) => {
  const { origin, url: saved } = await serving(() => ({ body: [{ id: 1, name: 'cat' }] }));
  const stored = { url: saved, key: 'stored-key-0001', origin };
  const profiles = { production: stored, farm: { ...stored, url: `${saved}/farm/v1` } };
  const set = Object.entries(env).map(([name, value]) => [name, value.replace('URL', saved)]);
  const dir = withConfig({ 'config.json': JSON.stringify({ profiles }) });
  const { code, of } = await doctor(Object.fromEntries(set), args.split(' ').filter(Boolean), dir);
  const details = ['profile', 'base_url', 'api_key'].map((id) => of(id)?.detail);
  expect([code, ...details]).toEqual([0, profile, url.replace('URL', saved), key]);
  const isSandbox = args.includes('sandbox');
  expect(of('connection')?.detail).toContain(isSandbox ? 'the sandbox responded in' : '127.0.0.1:');
  expect(of('service')?.detail).toBe(isSandbox ? 'listed 0 categories' : 'listed 1 category');
});

const NETWORK = "check this machine's network connection";
const RENEW = 'synchronize the system clock, or renew the certificate';
const TRUST = 'set NODE_EXTRA_CA_CERTS to the certificate file of a trusted authority';

test.each([
  ['an unknown host', 'DNS', 'ENOTFOUND', 'connect', 'check the host name in URL'],
  ['a permanent lookup error', 'DNS', 'EAI_FAIL', 'connect', 'check the host name in URL'],
  ['a temporary lookup error', 'DNS', 'EAI_AGAIN', 'connect', NETWORK],
  ['an unreachable network', 'TCP', 'ENETUNREACH', 'connect', NETWORK],
  ['a timeout before the request was sent', 'TCP', '', 'timeout', 'check the host and port in URL'],
  ['an expired certificate', 'TLS', 'CERT_HAS_EXPIRED', 'tls', RENEW],
  ['a certificate that is not yet valid', 'TLS', 'CERT_NOT_YET_VALID', 'tls', RENEW],
  ['a certificate of another host', 'TLS', 'ERR_TLS_CERT_ALTNAME_INVALID', 'tls', 'check the host name in URL'],
  ['a mismatched host name', 'TLS', 'HOSTNAME_MISMATCH', 'tls', 'check the host name in URL'],
  ['an untrusted certificate', 'TLS', 'CERT_UNTRUSTED', 'tls', TRUST],
] as const)('`doctor` reports %s as a %s failure, with a hint', (_what, step, code, reason, hint) => {
  const cause = new TransportError(reason, false, 'no response', { code });
  const error = new PetstoreError('network', 'no response', { cause });
  for (const [urlSource, url] of [
    ['environment', 'PETSTORE_BASE_URL'],
    ['stored', 'the base URL of profile "farm"'],
  ] as const) {
    const shown = connectionError(error, { profile: 'farm', urlSource });
    expect(shown).toMatchObject({ message: `no response (${step})`, hint: hint.replace('URL', url) });
  }
});

test('`doctor` prints the row of each check as soon as the check ends', async () => {
  let before = '';
  const { env } = await serving(() => {
    before = context.stdout.text();
    return LISTED;
  });
  const context = world(['doctor'], { env });
  await run(context);
  expect(before).toMatch(/^STATUS .*\n(?:.+\n)+ok +Proxy +none\n$/);
});

test('`doctor` does not wait for the rate limit, and shows when to try again', async () => {
  const { env, requests } = await serving(() => errorResponse(429, 'rate_limited', 'No.', { 'retry-after': '50' }));
  const dir = tempDir();
  const first = await doctor(env, [], dir);
  const detail = expect.stringMatching(/^127\.0\.0\.1:\d+ responded \(429\)$/);
  expect([first.code, first.of('connection')]).toMatchObject([0, { status: 'ok', detail }]);
  const notChecked = /^not checked: rate limited; try again in \d+s/;
  for (const id of ['service', 'api_key', 'clock']) expect(first.of(id)?.detail).toMatch(notChecked);
  const { code, checks, of } = await doctor(env, [], dir);
  const skipped = checks.filter(({ status }) => status === 'skipped').map(({ id }) => id);
  expect([code, skipped.join(' ')]).toEqual([0, 'config profile connection service api_key clock']);
  expect(of('connection')?.detail).toMatch(notChecked);
  expect(requests).toHaveLength(1);
});

/** The exit code and the checks of `doctor` after shell commands that mount file systems, in the directory of a place. */
function doctorAfter(mounts: string, at = place()) {
  const script = `cd "$0"; ${mounts}; exec "$@"`;
  const command = ['-rm', 'sh', '-c', script, at.dir, process.execPath, BIN, 'doctor', '--json'];
  const { status, stdout } = spawnSync('unshare', command, { env: at.env, encoding: 'utf8' });
  return { status, checks: JSON.parse(stdout) as Check[] };
}

test.runIf(hasMounts)('`doctor` reports a full disk, with the hint to free disk space', () => {
  const fill = 'mount -t tmpfs -o size=64k,mode=700 tmpfs .; cd "$0"; mkdir -m 700 config state; cat /dev/zero > fill';
  const { status, checks } = doctorAfter(`${fill} 2>/dev/null`);
  const full = checks.filter((one) => one.hint === 'free some disk space');
  expect([status, full.map(({ id }) => id)]).toEqual([9, ['config', 'state']]);
});

// Containers mount secrets read-only.
test.runIf(hasMounts)('`doctor` checks the profile in a read-only configuration directory', () => {
  const save = `mkdir -m 700 config; echo '{"active":"staging"}' > config/config.json`;
  const { status, checks } = doctorAfter(`${save}; mount --bind config config; mount -o remount,bind,ro config`);
  const failed = checks.filter((one) => one.status === 'failed').map(({ id }) => id);
  expect([status, failed]).toEqual([9, ['config', 'base_url']]);
  expect(checks.find(({ id }) => id === 'profile')?.detail).toBe('staging (active)');
});

test.runIf(hasModes).each(['705', '750'])(
  '`doctor` warns, with a `chmod` hint, about a configuration directory of mode %s, but not about one of mode 700',
  async (mode) => {
    const dir = withConfig({ 'config.json': '{}' });
    const hint = `run \`chmod -R go= ${join(dir, 'config')}\``;
    chmodSync(join(dir, 'config'), Number.parseInt(mode, 8));
    expect((await doctor({}, [], dir)).of('config')).toMatchObject({ status: 'warning', hint });
    // Windows has no such modes, and Node.js reports 0o666 there.
    const onWindows = { context: world([], { platform: 'win32' }) };
    expect(checkDirectory(onWindows, join(dir, 'config'), 'X')).toMatchObject({ status: 'ok' });
    chmodSync(join(dir, 'config'), 0o700);
    expect((await doctor({}, [], dir)).of('config')).toMatchObject({ status: 'ok' });
    expect(readdirSync(join(dir, 'config')), 'no file of a check remains').toEqual(['config.json']);
  },
);

needs('redis')('`doctor` warns if a state server may evict keys, but not if its memory is unlimited', async () => {
  const check = async (...args: string[]) => {
    await using server = await RedisServer.start({ args });
    const { env } = await serving(() => LISTED);
    return (await doctor({ ...env, PETSTORE_STATE_URL: server.url })).of('state_server');
  };
  const evicting = await check('--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru');
  expect(evicting).toMatchObject({ status: 'warning', hint: expect.stringContaining('noeviction') });
  expect(evicting?.detail).toContain('allkeys-lru');
  const unlimited = await check('--maxmemory-policy', 'allkeys-lru');
  expect(unlimited).toMatchObject({ status: 'ok', detail: expect.stringMatching(/:\d+ responded without TLS$/) });
});

needs('redis').each(['xadd', 'del'])(
  'the state server check of `doctor` fails without permission for the command `%s`',
  async (command) => {
    await using server = await RedisServer.start();
    const connection = parseStateUrl(server.url, undefined, { url: 'X', password: 'Y' });
    const state = new StateServer({ connection, clock: systemClock });
    onTestFinished(() => state.close());
    expect(await checkServer(state, systemClock)).toBeUndefined();
    await server.command('ACL', 'SETUSER', 'default', `-${command}`);
    await expect(checkServer(state, systemClock)).rejects.toThrow('permission denied');
  },
);

test.each([
  ['a clock 5 s ahead', 'ok', 'agrees with the service', 5000],
  ['a clock 5.001 s ahead', 'warning', 'the system clock is 6s ahead of the service', 5001],
  ['a clock 90 s ahead', 'warning', 'the system clock is 1m 30s ahead of the service', 90_000],
  ['a clock 90 s behind', 'warning', 'the system clock is 1m 30s behind the service', -90_000],
  ['a response without a date', 'skipped', 'the response has no Date header', undefined],
])('for %s, the clock check of `doctor` has the status "%s"', (_what, status, detail, off) => {
  const theirs = Date.parse('2026-11-21T12:00:00Z');
  const at = theirs + 500 + (off ?? 0);
  const headers = off === undefined ? {} : { date: new Date(theirs).toUTCString() };
  expect(checkClock({ headers, sentAt: at, receivedAt: at })).toMatchObject({ status, detail });
});

test('`doctor` prints checks and hints as a table, and its error names the failed checks without their details', async () => {
  const { out, err } = await inProcess(['doctor']);
  expect(out).toMatch(/^STATUS {3}CHECK {9}DETAIL\nok {7}petstore {6}1\.0\.0 on \S+ \S+\nok {7}Node {10}\d+/);
  expect(out).toMatch(/\nok {7}Profile {7}production \(active\)\n/);
  expect(out).toMatch(/\nfailed {3}Base URL {6}.*\n {23}hint: run `petstore auth login/);
  expect(err).toBe('error: 1 of 11 checks failed: Base URL\n');
});
