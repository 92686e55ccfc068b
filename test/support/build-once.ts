// Builds dist/ once before the tests, so that tests of the built program see the code under test.
import { execFileSync } from 'node:child_process';

export function setup(): void {
  execFileSync(process.execPath, ['esbuild.config.mjs'], { stdio: 'inherit' });
}
