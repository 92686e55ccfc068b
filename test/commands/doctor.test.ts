// `petstore doctor`: every check with its remedy; the first failed one decides the exit code.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { check } from '../../src/commands/doctor/check.ts';
import { checkClock, checkNode } from '../../src/commands/doctor/diagnose.ts';
import { hasModes } from '../support/capabilities.ts';
import { startHttpFake } from '../support/http-fake.ts';
import { place } from '../support/processes.ts';
import { inProcess } from '../support/world.ts';

interface Diagnosis {
  readonly ok: boolean;
  readonly checks: readonly { name: string; status: string; detail: string; remedy?: string }[];
}

async function doctor(env: Record<string, string>, args: string[] = [], dir?: string) {
  const { code, out, err } = await inProcess(['doctor', '--json', ...args], { env, ...(dir ? { dir } : {}) });
  const found = JSON.parse(out) as Diagnosis;
  const statuses = Object.fromEntries(found.checks.map(({ name, status }) => [name, status]));
  return { code, err, found, statuses };
}

async function serving(
  status: number,
  headers: Record<string, string> = {},
  body = '[]',
): Promise<Record<string, string>> {
  const answer = { status, headers, body: status === 200 ? body : { code: 'unauthorized', message: 'No.', status } };
  const { url, close } = await startHttpFake(() => answer);
  onTestFinished(close);
  return { PETSTORE_API_KEY: 'sk_canary_0123456789abcdef', PETSTORE_BASE_URL: url };
}

test('a healthy setup ends with 0', async () => {
  const { code, found, err } = await doctor(await serving(200));
  expect(code).toBe(0);
  expect(err).toBe('');
  expect(found.ok).toBe(true);
  expect(found.checks.map(({ name }) => name)).toEqual([
    'Node',
    'Config',
    'Profile',
    'URL and key',
    'Proxy',
    'DNS',
    'TCP',
    'TLS',
    'Key accepted',
    'Clock',
  ]);
});

test.each(['<html>', '{}', '[{"id":"x"}]'])('a response that is not a list of categories fails: %s', async (body) => {
  const { code, statuses, found } = await doctor(await serving(200, {}, body));
  expect(code).toBe(7);
  expect(statuses).toMatchObject({ TCP: 'ok', 'Key accepted': 'failed', Clock: 'ok' });
  expect(JSON.stringify(found)).toContain('is not a list of categories');
});

test('the sandbox skips the network checks', async () => {
  const { code, statuses } = await doctor({}, ['-p', 'sandbox']);
  expect(code).toBe(0);
  expect(statuses).toMatchObject({ TCP: 'skipped', 'Key accepted': 'ok' });
});

test('without configuration the remedy is to log in, and the rest is skipped', async () => {
  const { code, err, found, statuses } = await doctor({});
  expect(code).toBe(3);
  expect(statuses).toMatchObject({ Config: 'ok', 'URL and key': 'failed', DNS: 'skipped', Clock: 'skipped' });
  expect(found.checks.find(({ name }) => name === 'URL and key')?.remedy).toContain('petstore auth login');
  expect(JSON.parse(err).error).toMatchObject({ kind: 'auth' });
});

test('a key that is not accepted is exit code 3, and is not shown', async () => {
  const env = await serving(401);
  const { code, err, found, statuses } = await doctor(env);
  expect(code).toBe(3);
  expect(statuses).toMatchObject({ TCP: 'ok', 'Key accepted': 'failed' });
  expect(JSON.stringify(found) + err).not.toContain(env['PETSTORE_API_KEY']);
});

test('a refused connection is exit code 6, at TCP', async () => {
  const env = { PETSTORE_API_KEY: 'sk_canary_0123456789abcdef', PETSTORE_BASE_URL: 'http://127.0.0.1:9/v1' };
  const { code, statuses } = await doctor(env);
  expect(code).toBe(6);
  expect(statuses).toMatchObject({ DNS: 'ok', TCP: 'failed', TLS: 'skipped', 'Key accepted': 'skipped' });
});

test('a server without TLS is exit code 6, at TLS', async () => {
  const { PETSTORE_BASE_URL = '', ...key } = await serving(200);
  const env = { ...key, PETSTORE_BASE_URL: PETSTORE_BASE_URL.replace('http:', 'https:') };
  const { code, found, statuses } = await doctor(env);
  expect(code).toBe(6);
  expect(statuses).toMatchObject({ TCP: 'ok', TLS: 'failed' });
  expect(found.checks.find(({ name }) => name === 'TLS')?.remedy).toContain('serves https');
});

test('an unknown profile is exit code 2 and lists the profiles', async () => {
  const { code, found } = await doctor({}, ['-p', 'prodction']);
  expect(code).toBe(2);
  expect(found.checks.find(({ name }) => name === 'Profile')?.detail).toContain('production');
});

test('a damaged config is exit code 9, and is not changed', async () => {
  const { dir } = place();
  mkdirSync(join(dir, 'config'), { mode: 0o700 });
  writeFileSync(join(dir, 'config', 'profile-staging.json'), '{"key": "sk_canary_', { mode: 0o600 });
  const { code, found } = await doctor({}, ['-p', 'staging'], dir);
  expect(code).toBe(9);
  const config = found.checks.find(({ name }) => name === 'Config');
  expect(config).toMatchObject({ status: 'failed' });
  expect(JSON.stringify(found)).not.toContain('sk_canary_');
});

test.runIf(hasModes)('a config folder that others can read is a warning with a remedy, except on Windows', async () => {
  const { dir } = place();
  mkdirSync(join(dir, 'config'));
  chmodSync(join(dir, 'config'), 0o755);
  const { found } = await doctor({}, [], dir);
  const remedy = `chmod 700 '${join(dir, 'config')}'`;
  const expected = process.platform === 'win32' ? { status: 'ok' } : { status: 'warning', remedy };
  expect(found.checks.find(({ name }) => name === 'Config')).toMatchObject(expected);
});

test.each([
  ['20.18.1', 'ok'],
  ['20.18.0', 'failed'],
  ['18.20.4', 'failed'],
  ['22.0.0', 'ok'],
  ['26.1.0', 'ok'],
])('Node %s is %s', async (version, status) => {
  expect((await check('Node', () => checkNode(version))).status).toBe(status);
});

test.each([
  [0, 'ok'],
  [4000, 'ok'],
  [90_000, 'warning'],
  [-90_000, 'warning'],
])('a clock %i ms off is %s', (off, status) => {
  const theirs = Date.parse('2026-11-21T12:00:00Z');
  const at = theirs + 500 + off;
  const headers = { date: new Date(theirs).toUTCString() };
  expect(checkClock({ headers, sentAt: at, receivedAt: at }).status).toBe(status);
});

test('without a Date header the clock is not checked', () => {
  expect(checkClock({ headers: {}, sentAt: 0, receivedAt: 0 }).status).toBe('skipped');
});

test('the table shows each check with its remedy, and the error does not repeat them', async () => {
  const { out, err } = await inProcess(['doctor']);
  expect(out).toMatch(/^STATUS {3}CHECK {9}DETAIL\nok {7}Node {10}\d+/);
  expect(out).toMatch(/\nfailed {3}URL and key {3}.*\n {23}hint: run `petstore auth login/);
  expect(err).toBe('error: 1 of 10 checks failed: URL and key\n');
});

test.each([40, 80])('at %i columns no line is wider than the terminal', async (columns) => {
  const { out } = await inProcess(['doctor'], { columns, env: { HOME: '/h', PETSTORE_CONFIG_DIR: '/nowhere' } });
  const lines = out.replaceAll(/\u001b\[\d+m/g, '').split('\n');
  expect(lines.filter((line) => line.length > columns)).toEqual([]);
});
