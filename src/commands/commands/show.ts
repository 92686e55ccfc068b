// `petstore commands`: the command tree as data, from the same definitions that parse the command line.
import type { Command } from 'commander';
import type { View } from '../../output/view.ts';
import { hangingIndent } from '../../output/wrap.ts';
import { ENVIRONMENT, EXIT_MEANINGS } from '../../reference/facts.ts';
import type { CommandNode, OptionNode } from '../../reference/tree.ts';
import { describe, everyCommand } from '../../reference/tree.ts';
import type { Session } from '../../session.ts';

/** One command that can be run, as `--json` shows it. */
export interface CommandFacts extends Omit<CommandNode, 'path' | 'commands'> {
  readonly path: string;
}

/** Everything a program needs to know to call this one. */
export interface Tree {
  readonly version: string;
  readonly description: string;
  readonly commands: readonly CommandFacts[];
  readonly globalOptions: readonly OptionNode[];
  readonly environment: readonly { readonly name: string; readonly meaning: string }[];
  readonly exitCodes: readonly { readonly code: number; readonly kind?: string; readonly meaning: string }[];
}

/**
 * @param session for the version
 * @param input the root of the tree
 * @returns all commands, nouns without an action of their own left out
 */
export async function run(session: Session, { program }: { readonly program: Command }): Promise<Tree> {
  const root = describe(program);
  const commands = [...everyCommand(root)]
    .filter((node) => node !== root && node.commands.length === 0)
    .map(({ path, commands: _, ...facts }) => ({ path: path.slice(1).join(' '), ...facts }));
  return {
    version: session.context.version,
    description: root.description,
    commands,
    globalOptions: root.options,
    environment: ENVIRONMENT,
    exitCodes: EXIT_MEANINGS,
  };
}

/** Narrower than this, a description stands below its command instead of beside it; in cells. */
const NARROW = 70;

/** A line per command; on a terminal what it does goes on below, broken between words. */
export const view: View<Tree> = {
  *text({ commands }, { columns, style }) {
    const rows = commands.map((row) => ({ ...row, usage: row.usage.replace(' [options]', '') }));
    const beside = columns === undefined || columns >= NARROW;
    const indent = beside ? Math.max(...rows.map(({ usage }) => usage.length)) + 2 : 4;
    if (beside) yield `${style.bold(`${'COMMAND'.padEnd(indent)}WHAT IT DOES`)}\n`;
    for (const { usage, description } of rows) {
      const start = beside ? usage.padEnd(indent) : `${usage}\n${' '.repeat(indent)}`;
      yield `${start}${hangingIndent(description, columns, indent)}\n`;
    }
  },
};
