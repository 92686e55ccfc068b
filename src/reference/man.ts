// The manual page, petstore(1), from the command tree (man(7) macros).
import { ENVIRONMENT, EXIT_MEANINGS, explained } from './facts.ts';
import type { CommandNode, OptionNode } from './tree.ts';
import { everyCommand } from './tree.ts';

/**
 * Writes the manual page.
 * @param root the command tree
 * @param version the program's
 * @returns the page's source; the same for the same tree, so that builds can be repeated
 */
export function toMan(root: CommandNode, version: string): string {
  const commands = [...everyCommand(root)].filter((node) => node !== root && node.commands.length === 0);
  return [
    `.TH PETSTORE 1 "" "petstore ${version}" "User Commands"`,
    '.SH NAME',
    `petstore \\- ${text(root.description.replace(/\.$/, ''))}`,
    '.SH SYNOPSIS',
    '.B petstore',
    '.I command',
    '.RI [ options ]',
    '.SH DESCRIPTION',
    ...paragraphs(root.notes || root.description),
    '.SH COMMANDS',
    ...commands.flatMap(section),
    '.SH OPTIONS OF EVERY COMMAND',
    ...root.options.flatMap(option),
    '.SH ENVIRONMENT',
    ...ENVIRONMENT.flatMap(({ name, meaning }) => ['.TP', `.B ${text(name)}`, text(meaning)]),
    '.SH EXIT STATUS',
    ...EXIT_MEANINGS.flatMap(({ code, kind, meaning }) => [
      '.TP',
      `.B ${code}`,
      text(kind ? `${meaning} (${kind})` : meaning),
    ]),
    '.SH EXAMPLES',
    ...examples(root),
    '',
  ].join('\n');
}

function section(node: CommandNode): readonly string[] {
  return [
    `.SS ${text(node.usage)}`,
    ...paragraphs(`${node.description}.`),
    ...node.arguments.flatMap((one) => ['.TP', `.I ${text(one.name)}`, text(explained(one))]),
    ...node.options.flatMap(option),
    ...(node.notes ? ['.PP', ...paragraphs(node.notes)] : []),
    ...(node.examples.length > 0 ? ['.PP', 'Examples:', ...examples(node)] : []),
  ];
}

function option(one: OptionNode): readonly string[] {
  return ['.TP', `.B ${text(one.flags)}`, text(explained(one))];
}

function examples(node: CommandNode): readonly string[] {
  return node.examples.length === 0 ? [] : ['.PP', '.nf', '.RS', ...node.examples.map(text), '.RE', '.fi'];
}

// Paragraphs are filled by the formatter; indented lines are kept as they are.
function paragraphs(notes: string): readonly string[] {
  return notes.split(/\n{2,}/).flatMap((part, at) => {
    const lines = part.split('\n').map(text);
    const body = /^\s/m.test(part) ? ['.nf', ...lines, '.fi'] : lines;
    return at === 0 ? body : ['.PP', ...body];
  });
}

// roff reads a backslash, and a dot or quote at the start of a line; a hyphen that is to be copied is \-.
function text(raw: string): string {
  return raw
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/, '\\&$1');
}
