// Transport faults with commands: the documented exit code, stdout empty or one document, one POST. The reasons of faults are
// tested in transport.test.ts, retries in http-client.test.ts.
import { writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import { response, startRawServer } from '../support/raw-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { inProcess } from '../support/world.ts';

const LIST = ['categories', 'list'];
const CREATE = ['categories', 'create', '--name', 'dog'];
const IMPORT = ['categories', 'import', 'rows.csv', '--yes'];

const ending = (bytes: string | Buffer) => (socket: Socket) => void socket.end(bytes);
const reset = (socket: Socket): void => void socket.resetAndDestroy();

// Exit codes of a read, and of a create and an import; the latter does not know whether its row was created.
test.each<[fault: string, read: number, create: number, respond: (socket: Socket) => void]>([
  ['a reset', 6, 8, reset],
  ['no response', 6, 8, () => undefined],
  ['a body cut short', 7, 8, ending('HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n[{"id"')],
  ['no status line', 7, 8, ending('SSH-2.0-OpenSSH_9.6\r\n\r\n')],
  ['a huge header', 7, 8, ending(response('200 OK', '[]', `X-Huge: ${'x'.repeat(300_000)}`))],
  ['an HTML page', 7, 8, ending(response('200 OK', '<!doctype html><title>Sign in</title>'))],
  ['a redirect', 7, 7, ending(response('302 Found', '', 'Location: /elsewhere'))],
])(
  'after %s a list ends with %i, a create and an import end with %i and send one POST',
  async (fault, read, create, respond) => {
    let isListed = false;
    const { origin, requests, close } = await startRawServer({
      onRequest: (socket, { method }) =>
        isListed && method === 'GET' ? void socket.end(response('200 OK', '[]')) : respond(socket),
    });
    onTestFinished(close);
    const dir = tempDir();
    writeFileSync(join(dir, 'rows.csv'), 'name\ndog\n');
    const env = { PETSTORE_BASE_URL: `${origin}/v1`, PETSTORE_API_KEY: 'sk_test_secret_0123456789' };
    const options = ['--json', '--max-retries', '0', '--timeout', fault === 'no response' ? '150ms' : '20s'];
    const run = (args: readonly string[]) => inProcess([...args, ...options], { env, dir, clock: new FakeClock() });
    for (const [args, code] of [
      [LIST, read],
      [CREATE, create],
    ] as const) {
      const outcome = await run(args);
      expect([outcome.code, outcome.out], outcome.err).toEqual([code, '']);
      expect(JSON.parse(outcome.err)).toEqual({ error: expect.objectContaining({ message: expect.any(String) }) });
    }
    isListed = true;
    const { code, out, err } = await run(IMPORT);
    expect(code, err).toBe(create);
    expect(JSON.parse(out)).toMatchObject({ created: [], unknown: [{ name: 'dog' }] });
    expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(2);
    expect(requests.filter(({ path }) => path.startsWith('/elsewhere'))).toEqual([]);
  },
);

test('a connection that is reset immediately ends list and import with 6, and a create with 6 or 8', async () => {
  const { origin, close } = await startRawServer({ onConnect: (socket) => Boolean(socket.resetAndDestroy()) });
  onTestFinished(close);
  const dir = tempDir();
  writeFileSync(join(dir, 'rows.csv'), 'name\ndog\n');
  const env = { PETSTORE_BASE_URL: `${origin}/v1`, PETSTORE_API_KEY: 'sk_test_secret_0123456789' };
  const codeOf = async (args: readonly string[]) =>
    (await inProcess([...args, '--max-retries', '0'], { env, dir })).code;
  expect([await codeOf(LIST), await codeOf(IMPORT)]).toEqual([6, 6]);
  // The system decides whether the reset precedes the first write.
  expect([6, 8]).toContain(await codeOf(CREATE));
});
