// The completion candidates at each position of a command line.
import { expect, test } from 'vitest';
import { suggest } from '../../../src/commands/completion/suggest.ts';
import { FORMATS } from '../../../src/output/render.ts';
import { createProgram } from '../../../src/program.ts';
import { FAULT_KINDS } from '../../../src/sandbox/faults.ts';
import { world } from '../../support/world.ts';

const root = createProgram(world([]));
const profiles = async (): Promise<readonly string[]> => ['production', 'staging', 'sandbox', 'my-own'];

async function tab(line: string): Promise<string[]> {
  return (await suggest(root, line.split(' '), profiles)).map(({ value }) => value);
}

test.each([
  ['cat', ['categories']],
  ['-p staging categories c', ['create']],
  ['--profile=staging categories c', ['create']],
  ['auth s', ['status', 'switch']],
  ['auth switch ', ['production', 'staging', 'sandbox', 'my-own']],
  ['-p ', ['production', 'staging', 'sandbox', 'my-own']],
  ['categories list --profile m', ['my-own']],
  ['categories list --format ', FORMATS],
  ['categories list --format = nd', ['ndjson']],
  ['categories ls --sort ', ['id', 'name']],
  ['categories import ', [':files']],
  ['api GET /categories --input ', [':files']],
  ['api GET /categories --data ', []],
  ['categories create --name ', []],
  ['completion ', ['bash', 'zsh', 'fish', 'powershell']],
  ['categories l', ['list', 'ls']],
  ['sandbox --fault ', FAULT_KINDS],
  ['help cat', ['categories']],
  ['help auth s', ['status', 'switch']],
  ['unknown ', []],
  ['categories list -- ', []],
  ['categories list extra ', []],
])('petstore %s<Tab> offers %j', async (line, offered) => {
  expect(await tab(line)).toEqual(offered);
});

test('completion offers visible commands but not hidden ones', async () => {
  const offered = await tab('');
  expect(offered).toEqual(expect.arrayContaining(['categories', 'auth', 'quota', 'api', 'sandbox', 'doctor', 'help']));
  expect(offered).not.toContain('__complete');
});

test('completion offers the options of the command and the global options', async () => {
  const offered = await tab('categories list --');
  expect(offered).toEqual(expect.arrayContaining(['--sort', '--format', '--json', '--profile', '--help']));
  expect(offered).not.toContain('--name');
});

test('completion reads profiles only to complete a profile', async () => {
  const never = (): Promise<readonly string[]> => Promise.reject(new Error('read'));
  await expect(suggest(root, ['categories', ''], never)).resolves.toBeDefined();
});
