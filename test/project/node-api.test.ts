// docs/node-api.md and the library as an installed package: types, examples, bundles, and effects on the host program.
import { execFile } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { build, transform } from 'esbuild';
import { rolldown } from 'rolldown';
import { beforeAll, expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/start.ts';
import { place } from '../support/processes.ts';
import { BIN } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

const exec = promisify(execFile);
const PROJECT = join(import.meta.dirname, '../..');
const textOf = (document: string): string => readFileSync(join(PROJECT, document), 'utf8');

// Each document's examples run in order against a new sandbox.
const examples = ['README.md', 'docs/node-api.md'].flatMap((document) =>
  [...textOf(document).matchAll(/^```(c?ts)\n(.*?)^```/gms)].map(([, language, text = ''], index) => ({
    document,
    text,
    file: `${dirname(document)}-${index}.${text.includes("'vitest'") ? 'test.ts' : language === 'cts' ? 'cjs' : 'mts'}`,
  })),
);

// A project in a path with a space, with the package and vitest.
const at = place();
const directory = join(at.dir, 'my projects');
beforeAll(async () => {
  cpSync(join(BIN, '../..'), join(directory, 'node_modules', 'petstore-cli'), { recursive: true });
  symlinkSync(join(PROJECT, 'node_modules', 'vitest'), join(directory, 'node_modules', 'vitest'), 'junction');
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  for (const { file, text } of examples) writeFileSync(join(directory, file), text);
});

async function run(file: string, text?: string, more: Readonly<Record<string, string>> = {}): Promise<string> {
  if (text !== undefined) writeFileSync(join(directory, file), text);
  return (await exec(process.execPath, [file], { cwd: directory, env: { ...at.env, ...more } })).stdout;
}

// Compiles files in strict mode. TypeScript writes errors to stdout.
async function compile(files: readonly string[], options: object): Promise<void> {
  const strict = { strict: true, exactOptionalPropertyTypes: true, target: 'es2022', noEmit: true };
  const config = { compilerOptions: { ...strict, ...options }, files };
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config));
  const tsc = join(PROJECT, 'node_modules', 'typescript', 'bin', 'tsc');
  const compiled = exec(process.execPath, [tsc, '-p', join(directory, 'tsconfig.json')]);
  await compiled.catch(({ stdout }: { stdout: string }) => expect.fail(stdout));
}

const TYPES =
  'import type { ApiResponse, CallOptions, Category, Client, ClientOptions, Quota, Wait } from "petstore-cli";\n';
const MODULE = `${TYPES}import { createClient, PetstoreError } from 'petstore-cli';
import { startSandbox } from 'petstore-cli/sandbox';\n`;
const COMMONJS = `${TYPES}import petstore = require('petstore-cli');
import sandbox = require('petstore-cli/sandbox');
const { createClient, PetstoreError } = petstore;
const { startSandbox } = sandbox;\n`;
const USE = `
const onWait = ({ until, reason }: Wait): void => console.log(until.toFixed(), reason === 'window');
const options: ClientOptions = { baseUrl: 'http://127.0.0.1:1/v1', apiKey: undefined, maxWaitMs: undefined, stateDir: null, onWait };
const call: CallOptions = { signal: undefined, timeoutMs: undefined };
async function main(client: Client): Promise<void> {
  const all: readonly Category[] = await client.categories.list(call).catch((error: unknown) => {
    if (error instanceof PetstoreError && error.kind === 'network' && error.outcome === undefined) return [];
    throw error;
  });
  const ids: (number | bigint)[] = all.map(({ id }) => id);
  await client.categories.create({ name: 'dog', description: undefined }, { signal: new AbortController().signal });
  const response: ApiResponse = await client.request('POST', 'x', { body: { name: 'dog' }, signal: undefined });
  const header: string | undefined = response.headers['x-ratelimit-limit'];
  // @ts-expect-error a field is unknown
  await client.categories.create({ name: 'dog', descripton: header });
  const quota: Quota = client.quota();
  const resetAt: number | null = quota.resetAt;
  console.log(ids.length, resetAt, new PetstoreError('usage', 'x').retryAt);
  const { url, key, close } = await startSandbox({ limits: ['60/6s'], faults: ['503:10'], seed: 1, port: undefined });
  const both: string = url + key;
  // @ts-expect-error the plan is unknown
  await startSandbox({ plan: both });
  // @ts-expect-error a name is required
  await client.categories.create({});
  // @ts-expect-error the kind is unknown
  new PetstoreError('odd', 'x');
  // @ts-expect-error internal
  new PetstoreError('usage', 'x').details;
  // @ts-expect-error internal
  client.categories.listFresh;
  await close();
  await client[Symbol.asyncDispose]();
}
void main(createClient(options));
`;

test.each([
  ['nodenext', { module: 'nodenext' }],
  ['bundler', { module: 'esnext', moduleResolution: 'bundler' }],
])('with module resolution "%s", the types compile in strict mode without Node.js types', async (name, how) => {
  const texts = name === 'bundler' ? { 'use.ts': MODULE } : { 'use.mts': MODULE, 'use.cts': COMMONJS };
  for (const [file, start] of Object.entries(texts)) writeFileSync(join(directory, file), start + USE);
  const bare = { ...how, types: [], lib: ['es2022', 'dom'], skipDefaultLibCheck: true };
  await compile(Object.keys(texts), bare);
});

test('the examples in README.md and docs/node-api.md compile', async () => {
  const typeRoots = [join(PROJECT, 'node_modules', '@types')];
  const how = { module: 'nodenext', types: ['node'], typeRoots, allowJs: true, checkJs: true, skipLibCheck: true };
  const files = examples.map(({ file }) => file);
  await compile(files, how);
});

test.each([
  ['README.md', 1],
  ['docs/node-api.md', 2],
])('run in order with a new sandbox, the programs in %s print the documented output', async (document, count) => {
  await using sandbox = await startSandbox();
  const programs = examples.filter((one) => one.document === document && !one.file.endsWith('.test.ts'));
  expect(programs.length).toBeGreaterThanOrEqual(count);
  for (const { file, text } of programs) {
    const { code } = await transform(text.replace('https://HOST/v1', sandbox.url), { loader: 'ts', target: 'node20' });
    const printed = [...text.matchAll(/\/\/ prints: (.*)$/gm)].map(([, line]) => `${line}\n`).join('');
    const out = await run(`run-${file.replace('.mts', '.mjs')}`, code, { PETSTORE_API_KEY: sandbox.key });
    expect(out, file).toBe(printed);
  }
});

test.concurrent.each([
  ['esbuild', 'esm'],
  ['esbuild', 'cjs'],
  ['rolldown', 'esm'],
  ['rolldown', 'cjs'],
] as const)('a program that %s bundles with the package in %s format runs', async (bundler, format) => {
  const text = `import { createClient } from 'petstore-cli';
import { startSandbox } from 'petstore-cli/sandbox';
async function main() {
  const { url, key, close } = await startSandbox();
  for (const [apiKey, stateUrl] of [[key], [key, 'redis://127.0.0.1:1'], ['k_0123456789']]) {
    const client = createClient({ baseUrl: url, apiKey, stateUrl });
    await client.categories.list().then((all) => console.log(all.length), (error) => console.log(error.name, error.kind));
    await client.close();
  }
  await close();
}
main();
`;
  const input = `${bundler}-${format}.in.mjs`;
  writeFileSync(join(directory, input), text);
  const name = `${bundler}-${format}.${format === 'esm' ? 'mjs' : 'cjs'}`;
  const warnings =
    bundler === 'esbuild' ? await withEsbuild(input, name, format) : await withRolldown(input, name, format);
  expect(warnings).toEqual([]);
  expect(await run(name)).toBe('0\n0\nPetstoreError auth\n');
});

async function withEsbuild(input: string, output: string, format: 'esm' | 'cjs'): Promise<readonly unknown[]> {
  const [entry, outfile] = [input, output].map((name) => join(directory, name)) as [string, string];
  return (await build({ bundle: true, platform: 'node', format, entryPoints: [entry], outfile })).warnings;
}

async function withRolldown(input: string, output: string, format: 'esm' | 'cjs'): Promise<readonly unknown[]> {
  const warnings: unknown[] = [];
  const onLog = (_level: string, log: unknown) => void warnings.push(log);
  const bundle = await rolldown({ input: join(directory, input), platform: 'node', onLog });
  await bundle.write({ file: join(directory, output), format, codeSplitting: false });
  return warnings;
}

test('a program that imports and requires the package has one copy of it, and Node.js prints no warning', async () => {
  const out = await run(
    'both.mjs',
    `import { createRequire } from 'node:module';
import * as module from 'petstore-cli';
import { startSandbox } from 'petstore-cli/sandbox';
process.on('warning', ({ name }) => console.log(name));
const required = createRequire(import.meta.url)('petstore-cli');
console.log(Object.keys(required).join(), required.PetstoreError === module.PetstoreError, module.PetstoreError.name);
console.log(await startSandbox({ prot: 1 }).catch((error) => error instanceof required.PetstoreError));`,
  );
  expect(out).toBe('PetstoreError,createClient true PetstoreError\ntrue\n');
});

test('a logged error shows the class names of the error and its cause, and only public properties', async () => {
  const out = await run(
    'logged.mjs',
    `import { createClient } from 'petstore-cli';
const client = createClient({ baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'k_0123456789', maxRetries: 0 });
await client.categories.list().catch((error) => console.log(error));
await client.close();`,
  );
  expect(out).toMatch(/^PetstoreError: cannot connect to 127\.0\.0\.1:1: connection refused\n {4}at /);
  expect(out).toMatch(/\n {2}\[cause\]: TransportError: /);
  const shown = [...out.matchAll(/^ +([a-z]\w*): /gim)].map(([, name]) => name);
  expect(shown).toEqual(['kind', 'hint', 'code']);
});

const HTTPS_PROXY = 'http://127.0.0.1:1';

test.each([
  ['', 'listed', {}],
  [' through a proxy', 'cannot connect to proxy 127.0.0.1:1: connection refused', { HTTPS_PROXY }],
])('a library call%s changes nothing for the program around it', async (_how, result, variables) => {
  const text = `const v8 = require('node:v8');
let flags = 0;
v8.setFlagsFromString = () => flags++;
const seen = () => [flags, ...process.eventNames(), ...Reflect.ownKeys(globalThis), process.exitCode].map(String).join();
const before = seen();
const { createClient } = require('petstore-cli');
const { startSandbox } = require('petstore-cli/sandbox');
async function main() {
  const { url, key, close } = await startSandbox();
  const baseUrl = process.env.HTTPS_PROXY ? 'https://pets.example/v1' : url;
  const client = createClient({ baseUrl, apiKey: key, maxRetries: 0 });
  await client.categories.list().then(() => console.log('listed'), ({ message }) => console.log(message));
  console.log(seen() === before ? 'unchanged' : before + seen());
  await client.close();
  await close();
}
main();`;
  expect(await run('around.cjs', text, variables)).toBe(`${result}\nunchanged\n`);
});

test('the Vitest example of docs/node-api.md passes and leaves no file in the project or home directory', async () => {
  const [project, home] = [tempDir(), tempDir()];
  symlinkSync(join(directory, 'node_modules'), join(project, 'node_modules'), 'junction');
  const example = examples.find(({ text }) => text.includes("'vitest'"));
  writeFileSync(join(project, 'sandbox.test.ts'), example?.text ?? '');
  const vitest = join(PROJECT, 'node_modules', 'vitest', 'vitest.mjs');
  const env = { PATH: at.env['PATH'], HOME: home, USERPROFILE: home };
  const { stdout } = await exec(process.execPath, [vitest, 'run', '--no-color'], { cwd: project, env });
  expect(stdout).toMatch(/Tests +2 passed/);
  expect([readdirSync(project), readdirSync(home)]).toEqual([['node_modules', 'sandbox.test.ts'], []]);
});

test('the package exports exactly `PetstoreError`, two functions and the types that docs/node-api.md lists', () => {
  const types = join(BIN, '../../dist/types');
  const files = readdirSync(types, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.d.ts'));
  const exported = files.flatMap((file) =>
    [...readFileSync(join(types, file), 'utf8').matchAll(/^export (?:declare )?\w+ (\w+)/gm)].map(([, name]) => name),
  );
  const listed = /^The exported types are (.*?)\.$/ms.exec(textOf('docs/node-api.md'))?.[1] ?? '';
  const documented = [...listed.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  expect(new Set(exported)).toEqual(new Set([...documented, 'PetstoreError', 'createClient', 'startSandbox']));
});
