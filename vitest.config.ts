// How the tests run: every file under test/ except the benchmarks. The program is built once before them.
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import type { TestModule } from 'vitest/node';

// One plain line at the end, for logs.
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
    // Many tests wait for processes they started, so one worker more than there are cores keeps the machine busy.
    maxWorkers: availableParallelism() + 1,
    // Test files share a worker's modules: no test changes a global.
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
