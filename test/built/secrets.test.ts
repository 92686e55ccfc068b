// Keys in output and files: each run is searched for its key.
import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { hasSignals } from '../support/capabilities.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { startHttpFake } from '../support/http-fake.ts';
import type { Outcome, Place } from '../support/processes.ts';
import { ended, place, until } from '../support/processes.ts';
import { petstore, start } from '../support/program.ts';
import { response } from '../support/raw-server.ts';
import { inProcess } from '../support/world.ts';

const SECRET = 'qZ7xK2mW9vB4nL8tR3yC6jH1';

const BASE64 = Buffer.from(SECRET).toString('base64');
const HEX = Buffer.from(SECRET).toString('hex');

/** Whether a text contains the key, plain, in base64 or in hex; line breaks and spaces of a table do not hide it. */
function leaks(text: string): boolean {
  const joined = text.replace(/\s+/g, '');
  return [SECRET, BASE64, HEX].some((form) => joined.includes(form));
}

function leakyFiles(dir: string): readonly string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => lstatSync(path).isFile())
    .filter((path) => leaks(path) || leaks(readFileSync(path, 'latin1')));
}

// A service that repeats the key in every part of its response.
const echo = await startHttpFake(({ method, path, headers: { authorization } }) => {
  const [, status = '200'] = path.split('/');
  const text = `${SECRET} ${encodeURIComponent(`Bearer ${SECRET}`)} ${BASE64} ${authorization}`;
  const error = JSON.stringify({ code: SECRET, message: text, status: Number(status) });
  const list = JSON.stringify([{ id: 1, name: SECRET, description: text, extra: { [SECRET]: BASE64 } }]);
  const one = JSON.stringify({ id: 1, name: SECRET, description: text });
  const body = Number(status) >= 300 ? error : method === 'GET' ? list : one;
  const created = status === '200' && method === 'POST' ? '201' : status;
  const headers = [`X-Echo: ${text}`, `Location: https://${SECRET}.example/${BASE64}`, `Sunset: ${text}`];
  return (socket) => socket.end(response(`${created} ${SECRET}`, body, ...headers, `Deprecation: ${SECRET}`));
});
afterAll(echo.close);

const at = (baseUrl: string): Place => place({ PETSTORE_BASE_URL: baseUrl, PETSTORE_API_KEY: SECRET });

function expectNoLeak({ code, out, err }: Outcome, home: Place, result: 'messages' | 'data' = 'messages'): void {
  expect(code).not.toBe(1);
  // Data is printed as the service sent it, so it contains the key.
  expect([leaks(out), leaks(err)], out + err).toEqual([result === 'data', false]);
  expect(leakyFiles(home.dir)).toEqual([]);
}

test.each<[status: string, line: string, result: 'messages' | 'data']>([
  ['200', 'categories list', 'data'],
  ['200', 'categories list --format csv', 'data'],
  ['200', 'categories create --name dog', 'data'],
  ['200', 'categories import rows.csv --yes --json', 'messages'],
  ['200', 'api POST /categories --data {"name":"dog"} --json', 'data'],
  ['200', 'quota --refresh', 'messages'],
  ['200', 'doctor', 'messages'],
  ['400', 'doctor', 'messages'],
])('after a %s that repeats the key, `%s` leaves the key in no message and no file', async (status, line, result) => {
  const home = at(`${echo.origin}/${status}/v1`);
  writeFileSync(join(home.dir, 'rows.csv'), 'name\ndog\n');
  const args = `${line} --verbose --max-retries 0 --timeout 5s`.split(' ');
  expectNoLeak(await inProcess(args, { ...home, clock: new FakeClock() }), home, result);
});

test('the built program alters no data that contains the key or the password of the state server', async () => {
  const home = at(`${echo.origin}/200/v1`);
  Object.assign(home.env, { PETSTORE_STATE_URL: 'redis://127.0.0.1:1', PETSTORE_STATE_PASSWORD: BASE64 });
  const { out, err } = await petstore(home, ['categories', 'list', '--verbose', '--format', 'ndjson']);
  expect(out).toContain(`${SECRET} ${encodeURIComponent(`Bearer ${SECRET}`)} ${BASE64} Bearer ${SECRET}`);
  expect(leaks(err)).toBe(false);
});

test.runIf(hasSignals)(
  'Node.js debug output and diagnostic reports contain no API key and no state server password',
  async () => {
    const silent = await startHttpFake(() => 'silence');
    onTestFinished(silent.close);
    const home = at(silent.url);
    Object.assign(home.env, {
      NODE_DEBUG: 'undici,http,net,tls',
      NODE_OPTIONS: '--report-on-signal --report-directory=.',
      PETSTORE_STATE_URL: `redis://${SECRET}@127.0.0.1:1`,
      PETSTORE_STATE_PASSWORD: SECRET,
    });
    const child = start(home, ['categories', 'list', '--timeout', '20s']);
    const outcome = ended(child);
    await until(() => silent.requests.length > 0);
    const report = (): string => readdirSync(home.dir).find((name) => /^report\..*\.json$/.test(name)) ?? '';
    child.kill('SIGUSR2');
    await until(() => report() !== '');
    child.kill('SIGINT');
    expectNoLeak(await outcome, home);
    expect(readFileSync(join(home.dir, report()), 'utf8')).toContain('PETSTORE_STATE_DIR');
  },
);
