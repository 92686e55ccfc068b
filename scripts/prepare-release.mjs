// The first step of the release workflow: checks the conditions for publishing, and writes the URL of the workflow's
// repository into package.json, which provenance requires.
import { readFileSync, writeFileSync } from 'node:fs';

const { env } = process;
const about = JSON.parse(readFileSync('package.json', 'utf8'));
const url = `git+${env.GITHUB_SERVER_URL}/${env.GITHUB_REPOSITORY}.git`;

const problems = [
  [!env.GITHUB_REPOSITORY || !env.GITHUB_SERVER_URL, 'this is not a GitHub Actions run: GITHUB_REPOSITORY is not set'],
  [env.GITHUB_REF_NAME !== `v${about.version}`, `the tag ${env.GITHUB_REF_NAME} is not v${about.version}`],
  [
    !readFileSync('CHANGELOG.md', 'utf8').includes(`\n## [${about.version}] - `),
    `CHANGELOG.md has no section ${about.version}`,
  ],
  [env.REPOSITORY_VISIBILITY !== 'public', 'npm accepts provenance from public repositories only'],
  [!env.ACTIONS_ID_TOKEN_REQUEST_URL, 'the job needs the permission `id-token: write`'],
  [about.repository && about.repository.url !== url, `package.json names another repository: ${about.repository?.url}`],
].flatMap(([isProblem, message]) => (isProblem ? [message] : []));

if (problems.length > 0) {
  for (const problem of problems) process.stderr.write(`error: ${problem}\n`);
  process.exit(1);
}
writeFileSync('package.json', `${JSON.stringify({ ...about, repository: { type: 'git', url } }, null, 2)}\n`);
process.stdout.write(`petstore-cli ${about.version} from ${url}\n`);
