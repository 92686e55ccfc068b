// The manual page and the reference, from the command tree itself; the build calls this, the program never does.
import { systemClock } from './clock.ts';
import type { Output } from './io.ts';
import { createProgram } from './program.ts';
import { Redactor } from './redact.ts';
import { toMan } from './reference/man.ts';
import { toMarkdown } from './reference/markdown.ts';
import { describe } from './reference/tree.ts';
import type { Context } from './session.ts';

/**
 * @param version the program's version
 * @returns the manual page's source (man(7)) and the reference (Markdown); the same for the same tree
 */
export function manual(version: string): { readonly man: string; readonly markdown: string } {
  const tree = describe(createProgram(nowhere(version)));
  return { man: toMan(tree, version), markdown: toMarkdown(tree) };
}

// A world in which nothing is run: the tree is only read.
function nowhere(version: string): Context {
  const output: Output = { isTTY: false, columns: undefined, write: () => Promise.resolve() };
  return {
    args: [],
    env: {},
    cwd: '/',
    platform: 'linux',
    nodeVersion: '',
    homeDir: undefined,
    tempDir: '/tmp',
    version,
    stdin: { isTTY: false, async *read() {} },
    stdout: output,
    stderr: output,
    clock: systemClock,
    signal: new AbortController().signal,
    redactor: new Redactor(),
    cleanups: [],
  };
}
