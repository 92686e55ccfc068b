// Streams: slow and closed readers, and outputs that cannot be written.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { hasDevFull, hasShell } from '../support/capabilities.ts';
import { startHttpFake } from '../support/http-fake.ts';
import { ended, place } from '../support/processes.ts';
import { inScript, petstore, savedPlace, start } from '../support/program.ts';

const BIG = JSON.stringify(
  Array.from({ length: 6000 }, (_, at) => ({ id: at + 1, name: `name-${at}`, description: 'x'.repeat(140) })),
);
const LIST = ['categories', 'list'];

// Lists 1 MB for the tests of slow and closed pipes, and one category for the others.
const service = await startHttpFake(({ path }) => ({
  body: path.startsWith('/big/') ? BIG : [{ id: 1, name: 'dog' }],
}));
const bigPlace = () => savedPlace(`${service.origin}/big/v1`);
afterAll(service.close);

const inShell = (script: string, ...args: readonly string[]) => inScript(savedPlace(service.url), script, args);

test('a list that is piped to a slow reader is complete', async () => {
  const child = start(bigPlace(), [...LIST, '--json']);
  const sizes: number[] = [];
  child.stdout?.on('data', (chunk: Buffer) => {
    sizes.push(chunk.length);
    child.stdout?.pause();
    setImmediate(() => child.stdout?.resume());
  });
  const { code, out } = await ended(child);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual(JSON.parse(BIG));
  expect(sizes.length).toBeGreaterThan(1);
});

test.runIf(hasShell)('a pipe closed after the first line ends a list with exit code 0 and no error', async () => {
  const run = await inScript(bigPlace(), `"$@" | head -1; echo "code \${PIPESTATUS[0]}"`, [...LIST, '--format=csv']);
  expect(run.out).toMatch(/code 0\n$/);
  expect(run.err.replace(/^quota:.*\n/m, '')).toBe('');
});

// A place for a program whose stdout fails with this error.
const failing = (code: string) =>
  place({
    NODE_OPTIONS: `--import=data:text/javascript,process.stdout._write=(_,e,done)=>done(Object.assign(Error(),{code:'${code}'}))`,
  });

test('a list ends without an error if its pipe is closed with EOF, as on Windows', async () => {
  const run = await petstore(failing('EOF'), ['categories', 'list', '-p', 'sandbox', '-q', '--json']);
  expect(run).toMatchObject({ code: 0, err: '' });
});

const IMPORT = ['categories', 'import', 'rows.csv', '--yes', '-p', 'sandbox', '-q'];
const COUNTS = 'created 2, skipped 0, failed 0, unknown 0';
const CLOSED = `warning: the output was closed; ${COUNTS}\n`;
const FULL = `error: cannot write the output (no space left on device); ${COUNTS}\nhint: free some disk space\n`;

test.each([
  ['EPIPE', 0, CLOSED],
  ['ENOSPC', 9, FULL],
  ['EIO', 9, expect.stringMatching(`^error: cannot write the output \\(.*\\); ${COUNTS}\n`)],
])('an import whose stdout fails with %s prints its counts on stderr', async (error, code, err) => {
  const home = failing(error);
  writeFileSync(join(home.dir, 'rows.csv'), 'name\na\nb\n');
  expect(await petstore(home, IMPORT)).toMatchObject({ code, err });
});

test.runIf(hasDevFull).each(['categories list', '--help', '--version'])(
  '`petstore %s` exits with code 9 if its stdout is on a full disk',
  async (line) => {
    const { code, err } = await inShell('"$@" >/dev/full', ...line.split(' '));
    const message = 'cannot write the output (no space left on device)';
    expect([code, err]).toEqual([9, `error: ${message}\nhint: free some disk space\n`]);
  },
);

test.runIf(hasDevFull).each([
  ['a usage error', ['categories', 'lsit'], 2],
  ['a list', [...LIST, '--json', '--verbose'], 0],
])('the exit code of %s does not change if its stderr is on a full disk', async (_what, args, code) => {
  expect(await inShell('"$@" 2>/dev/full', ...args)).toMatchObject({ code });
});

test.runIf(hasShell).each(['>&-', '<&-', '2>&-'])('`petstore --version %s` succeeds', async (redirection) => {
  expect(await inShell(`"$@" ${redirection}`, '--version')).toMatchObject({ code: 0, err: '' });
});

test.runIf(hasShell)("a command in a `while read` loop does not consume the loop's input", async () => {
  const script = `printf 'a\\nb\\n' | while read -r line; do "$@" >/dev/null; echo "$line"; done`;
  expect(await inShell(script, ...LIST, '--json')).toMatchObject({ out: 'a\nb\n' });
});
