// How the tests run: every file under test/, benchmarks apart; the program is built once before them.
import { defineConfig } from 'vitest/config';
import type { TestModule } from 'vitest/node';

// One plain line at the end, for whoever reads logs.
const counts = {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const passed = tests.filter((test) => test.result().state === 'passed').length;
    process.stdout.write(`\n${passed} passed, ${tests.length - passed} failed\n`);
  },
};

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/**'],
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', counts],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
