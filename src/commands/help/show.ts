// `petstore help WORDS`: the help of the command that the words name.
import type { Command } from 'commander';
import { closestMatch } from '../../did-you-mean.ts';
import { PetstoreError } from '../../errors.ts';
import { colorLevel } from '../../io.ts';
import type { View } from '../../output/view.ts';
import { bold, helpWidth, reflow } from '../../output/wrap.ts';
import type { CommandNode } from '../../reference/tree.ts';
import { afterText, describe } from '../../reference/tree.ts';
import type { Session } from '../../session.ts';

/** A command's help. */
export interface HelpPage {
  readonly text: string;
  readonly node: CommandNode;
}

/**
 * @param session decides colour
 * @param input the root, and the words after `help`
 * @returns that command's help as text and as data
 * @throws PetstoreError `usage` naming the nearest command
 */
export async function run(
  session: Session,
  input: { readonly program: Command; readonly words: readonly string[] },
): Promise<HelpPage> {
  let command = input.program;
  for (const word of input.words) command = childOf(command, word);
  const { stdout, env } = session.context;
  const color = colorLevel(stdout, env, session.options.noColor) > 0;
  const text = command.helpInformation() + afterText(command);
  return { text: bold(reflow(text, helpWidth(stdout.columns)), color), node: describe(command) };
}

function childOf(command: Command, word: string): Command {
  const found = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
  if (found) return found;
  const names = command
    .createHelp()
    .visibleCommands(command)
    .map((one) => one.name());
  const near = closestMatch(word, names);
  // The word itself is not repeated: it may be anything, a key included.
  throw new PetstoreError('usage', `${command.name()} has no such command`, {
    hint: near ? `did you mean ${near}?` : names.length > 0 ? `there are: ${names.join(', ')}` : 'see `petstore help`',
  });
}

/** The text as it is, or the command as data. */
export const view: View<HelpPage> = { json: ({ node }) => node, text: ({ text }) => [text] };
