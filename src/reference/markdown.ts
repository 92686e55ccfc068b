// The reference in Markdown, from the command tree.
import { ENVIRONMENT, EXIT_MEANINGS, explained } from './facts.ts';
import type { CommandNode, OptionNode } from './tree.ts';
import { everyCommand } from './tree.ts';

/**
 * Writes the reference.
 * @param root the command tree
 * @returns a Markdown document; the same for the same tree
 */
export function toMarkdown(root: CommandNode): string {
  const commands = [...everyCommand(root)].filter((node) => node !== root && node.commands.length === 0);
  return [
    '# petstore: reference',
    root.description,
    'This file is generated from the command tree; `petstore commands --json` prints the same as data.',
    ...commands.flatMap(section),
    '## Options of every command',
    optionTable(root.options),
    '## Environment',
    table(
      ['variable', 'meaning'],
      ENVIRONMENT.map(({ name, meaning }) => [code(name), cell(meaning)]),
    ),
    '## Exit codes',
    table(
      ['code', 'kind', 'meaning'],
      EXIT_MEANINGS.map((one) => [String(one.code), one.kind ? code(one.kind) : '', cell(one.meaning)]),
    ),
  ]
    .join('\n\n')
    .concat('\n');
}

function section(node: CommandNode): readonly string[] {
  const parts = [`## ${node.path.join(' ')}`, `${sentence(node.description)}`, fence('text', [node.usage])];
  if (node.aliases.length > 0) parts.push(`Alias: ${node.aliases.map(code).join(', ')}`);
  if (node.arguments.length > 0) {
    const rows = node.arguments.map((one) => [code(one.name), cell(explained(one))]);
    parts.push(table(['argument', 'meaning'], rows));
  }
  if (node.options.length > 0) parts.push(optionTable(node.options));
  if (node.notes) parts.push(notes(node.notes));
  if (node.examples.length > 0) parts.push(fence('sh', node.examples));
  return parts;
}

function optionTable(options: readonly OptionNode[]): string {
  const rows = options.map((one) => [code(one.flags), cell(explained(one))]);
  return table(['option', 'meaning'], rows);
}

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(headings), line(headings.map(() => '---')), ...rows.map(line)].join('\n');
}

// Paragraphs as they are; what is indented is a list of terms, kept in its lines.
function notes(text: string): string {
  return text
    .split(/\n{2,}/)
    .map((part) => (/^\s/m.test(part) ? fence('text', part.split('\n')) : escaped(part)))
    .join('\n\n');
}

function sentence(description: string): string {
  const first = description.charAt(0).toUpperCase() + description.slice(1);
  return escaped(/[.!?]$/.test(first) ? first : `${first}.`);
}

function fence(language: string, lines: readonly string[]): string {
  return ['```'.concat(language), ...lines, '```'].join('\n');
}

function code(text: string): string {
  return `\`${text.replaceAll('|', '\\|')}\``;
}

function cell(text: string): string {
  return escaped(text).replaceAll('|', '\\|').replaceAll('\n', ' ');
}

// Angle brackets would be read as HTML, stars and underscores as emphasis.
function escaped(text: string): string {
  return text.replace(/[<>*_]/g, (char) => `\\${char}`);
}
