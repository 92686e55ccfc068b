// docs/node-api.md and the types of the client library, checked against the installed tarball.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { Installed } from '../support/installed.ts';
import { compileIn, exec, installPackage, PROJECT } from '../support/installed.ts';
import { startSandbox } from '../support/processes.ts';
import { BIN } from '../support/program.ts';

const examples = [
  ...readFileSync(join(PROJECT, 'docs', 'node-api.md'), 'utf8').matchAll(/^```(c?ts)\n(.*?)^```/gms),
].map(([, language, text = ''], index) => ({
  text,
  file: `example-${index}.${language === 'cts' ? 'cjs' : 'mts'}`,
  printed: [...text.matchAll(/\/\/ prints: (.*)$/gm)].map(([, line]) => `${line}\n`).join(''),
}));
const readme = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(PROJECT, 'README.md'), 'utf8'))?.[1] ?? '';

let directory: string;
let env: Readonly<Record<string, string>>;
let sandbox: Awaited<ReturnType<typeof startSandbox>>;
beforeAll(async () => {
  let installed: Installed;
  [installed, sandbox] = await Promise.all([installPackage(), startSandbox(BIN, [])]);
  directory = installed.directory;
  env = { ...installed.env, ...sandbox.env };
  return sandbox.stop;
}, 120_000);

const SETTINGS = [
  ['nodenext', { module: 'nodenext' }],
  ['node16', { module: 'node16' }],
  ['bundler', { module: 'esnext', moduleResolution: 'bundler' }],
] as const;
const TYPES = 'CallOptions, Category, Client, ClientOptions, Quota';
const MODULE = `import { createClient, PetstoreError } from 'petstore-cli';\nimport type { ${TYPES} } from 'petstore-cli';\n`;
const COMMONJS = `import petstore = require('petstore-cli');\nimport type { ${TYPES} } from 'petstore-cli';
const { createClient, PetstoreError } = petstore;\n`;
const USE = `
const options: ClientOptions = { baseUrl: 'http://127.0.0.1:1/v1', apiKey: undefined, maxWaitMs: undefined };
const call: CallOptions = { signal: undefined, timeoutMs: undefined };
async function main(client: Client): Promise<void> {
  const all: readonly Category[] = await client.categories.list(call).catch((error: unknown) => {
    if (error instanceof PetstoreError && error.kind === 'network' && error.outcome === undefined) return [];
    throw error;
  });
  const ids: (number | bigint)[] = all.map(({ id }) => id);
  await client.categories.create({ name: 'dog', description: undefined }, { signal: new AbortController().signal });
  const quota: Quota = client.quota();
  const resetAt: number | null = quota.resetAt;
  console.log(ids.length, resetAt, new PetstoreError('usage', 'x').retryAt);
  // @ts-expect-error a name is required
  await client.categories.create({});
  // @ts-expect-error the kind is unknown
  new PetstoreError('odd', 'x');
  // @ts-expect-error internal
  new PetstoreError('usage', 'x').commandHint;
  // @ts-expect-error internal
  client.categories.create({ name: 'dog' }, () => undefined);
  await client[Symbol.asyncDispose]();
}
main(createClient(options)).catch(() => undefined);
`;

test.each(SETTINGS)(
  'types and examples compile with module resolution %s, as ES modules and as CommonJS',
  async (name, how) => {
    // A bundler does not accept `import x = require()`.
    const texts = {
      'use.mts': MODULE + USE,
      'use.cts': (name === 'bundler' ? MODULE : COMMONJS) + USE,
      'readme.mts': readme,
    };
    for (const [file, text] of Object.entries(texts)) writeFileSync(join(directory, file), text);
    for (const { file, text } of examples) writeFileSync(join(directory, file), text);
    const files = [...Object.keys(texts), ...examples.map(({ file }) => file)];
    const options = { ...how, types: ['node'], allowJs: true, checkJs: true, skipLibCheck: false, noEmit: true };
    expect(await compileIn(directory, files, options)).toBe('');
  },
);

test('the types of the client library need no @types/node', async () => {
  writeFileSync(
    join(directory, 'bare.ts'),
    `import { type Client, createClient } from 'petstore-cli';
const client: Client = createClient({ baseUrl: 'https://pets.example/v1', apiKey: 'k_0123456789' });
export const names: Promise<string[]> = client.categories.list().then((all) => all.map(({ name }) => name));
`,
  );
  const bare = { module: 'nodenext', types: [], typeRoots: [], lib: ['es2022', 'dom'], skipLibCheck: false };
  expect(await compileIn(directory, ['bare.ts'], { ...bare, noEmit: true })).toBe('');
});

test('the declarations of the client library contain no internal names', () => {
  const declarations = ['client.d.ts', 'errors.d.ts', 'api/types.d.ts'].map((name) =>
    readFileSync(join(directory, 'node_modules/petstore-cli/dist/client', name), 'utf8'),
  );
  expect(declarations.join('')).not.toMatch(/beforeSend|rephrase|commandHint|exitCode|problems|listFresh|QuotaView/);
});

test('ES modules and CommonJS export the same names and one PetstoreError', async () => {
  const script = `import { createRequire } from 'node:module';
import * as module from 'petstore-cli';
const required = createRequire(import.meta.url)('petstore-cli');
console.log(Object.keys(module).join(), Object.keys(required).sort().join(), module.PetstoreError === required.PetstoreError);`;
  writeFileSync(join(directory, 'both.mjs'), script);
  const { stdout } = await exec(process.execPath, ['both.mjs'], { cwd: directory, env });
  expect(stdout).toBe('PetstoreError,createClient PetstoreError,createClient true\n');
});

test('a call with an invalid proxy variable is rejected as a usage error, and the client can be closed', async () => {
  const script = `import { createClient } from 'petstore-cli';
const client = createClient({ baseUrl: 'https://pets.example/v1', apiKey: 'k_0123456789' });
await client.categories.list().catch(({ kind, message }) => console.log(kind, message));
await client.close();`;
  writeFileSync(join(directory, 'proxy.mjs'), script);
  const { stdout } = await exec(process.execPath, ['proxy.mjs'], {
    cwd: directory,
    env: { ...env, HTTPS_PROXY: 'ftp://proxy.example' },
  });
  expect(stdout).toBe('usage HTTPS_PROXY is not an http or https URL\n');
});

test('the examples of docs/node-api.md print the documented output', async () => {
  const baseUrl = sandbox.env['PETSTORE_BASE_URL'] ?? '';
  expect(examples.length).toBeGreaterThan(4);
  for (const { file, text } of examples) writeFileSync(join(directory, file), text.replace('https://HOST/v1', baseUrl));
  const how = { module: 'nodenext', types: ['node'], allowJs: true, outDir: 'run' };
  const files = examples.map(({ file }) => file);
  expect(await compileIn(directory, files, how)).toBe('');
  for (const { file, printed } of examples) {
    const script = join('run', file.replace('.mts', '.mjs'));
    const { stdout } = await exec(process.execPath, [script], { cwd: directory, env });
    expect([file, stdout]).toEqual([file, printed]);
  }
});

test('the example of the README without a key throws an auth error', async () => {
  expect(readme).toContain('createClient');
  writeFileSync(join(directory, 'readme.js'), readme);
  const caught = "import('./readme.js').catch((error) => console.log(error.name, error.kind, error.message))";
  const { PETSTORE_API_KEY: _key, ...withoutKey } = env;
  const { stdout } = await exec(process.execPath, ['-e', caught], { env: withoutKey, cwd: directory });
  expect(stdout).toMatch(/^PetstoreError auth .*apiKey.* missing\n$/);
});
