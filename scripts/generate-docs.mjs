// Generates the man page, the command reference in docs/cli.md and the README's exit codes from `petstore --help --json`.
// `node scripts/generate-docs.mjs` after a build writes the documents; the build writes the man page.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Replaces the text between the start and end comments of a generated part. */
export function replaceGenerated(document, name, text) {
  const [start, end] = ['start', 'end'].map((at) => `<!-- generated ${name}: ${at} -->`);
  const [before, rest] = document.split(start);
  return `${before}${start}\n\n${text}\n\n${end}${rest.split(end)[1]}`;
}

/** The sections of docs/cli.md on commands, global options and environment variables. */
export function cliReference(reference) {
  return [
    '## Commands',
    ...reference.commands.flatMap(markdownSection),
    '## Global options',
    optionTable(reference.globalOptions),
    '## Environment variables',
    table(
      ['variable', 'meaning'],
      reference.environment.map(({ name, meaning }) => [code(name), cell(meaning)]),
    ),
  ].join('\n\n');
}

export function exitCodeTable({ exitCodes }) {
  return table(
    ['exit code', '`error.kind`', 'meaning', 'retry?'],
    exitCodes.map((one) => [one.code, one.kind ? code(one.kind) : '', cell(one.meaning), cell(one.retry ?? '')]),
  );
}

function markdownSection(command) {
  const { aliases, description, notes, output, exitCodes } = command;
  const alias = aliases.length > 0 ? ` Alias: ${aliases.map(code).join(', ')}` : '';
  const named = [...command.arguments.map((one) => ({ ...one, flags: one.name })), ...command.options];
  return [
    `### ${escaped(command.usage.replace(' [options]', ''))}`,
    escaped(sentence(description)) + alias,
    ...(named.length > 0 ? [optionTable(named)] : []),
    ...notes
      .split(/\n{2,}/)
      .filter(Boolean)
      .map(markdownParagraph),
    escaped(`Output: ${output}${exitCodes.length > 0 ? ` Exit codes: ${exitCodes.join(', ')}.` : ''}`),
  ];
}

function optionTable(list) {
  return table(
    ['option', 'meaning'],
    list.map((one) => [code(one.flags), cell(one.description)]),
  );
}

// A paragraph with indented lines is a list of terms and keeps its line breaks.
function markdownParagraph(text) {
  return /^\s/m.test(text) ? fence('text', text.split('\n')) : escaped(text);
}

function table(headings, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(headings), line(headings.map(() => '---')), ...rows.map(line)].join('\n');
}

function fence(language, lines) {
  return [`\`\`\`${language}`, ...lines, '```'].join('\n');
}

function code(text) {
  return `\`${text.replaceAll('|', '\\|')}\``;
}

function cell(text) {
  return escaped(text).replaceAll('|', '\\|').replaceAll('\n', ' ');
}

// Outside of code, angle brackets would be read as HTML, stars and underscores as emphasis.
function escaped(text) {
  return text.replace(/`[^`]*`|[<>*_]/g, (found) => (found.length > 1 ? found : `\\${found}`));
}

/** The page petstore(1) in man(7) macros, from the same Markdown. */
export function manPage(reference) {
  const { version, notes, commands, examples } = reference;
  const files = [
    [
      '~/.config/petstore',
      'profiles and keys (macOS: ~/Library/Preferences/petstore); PETSTORE_CONFIG_DIR overrides it',
    ],
    [
      '~/.local/state/petstore',
      'quota, import locks and sandbox data (macOS: ~/Library/Application Support/petstore); PETSTORE_STATE_DIR overrides it',
    ],
  ];
  const markdown = [
    '## Synopsis',
    'petstore command [options]',
    '## Description',
    ...notes.split(/\n{2,}/).map(markdownParagraph),
    cliReference(reference),
    '## Exit status',
    exitCodeTable(reference),
    '## Files',
    table(['path', 'content'], files),
    '## Examples',
    fence('sh', [...examples, ...commands.flatMap((command) => command.examples)]),
  ].join('\n\n');
  const title = [
    `.TH PETSTORE 1 "" "petstore ${version}" "User Commands"`,
    '.SH NAME',
    'petstore \\- command\\-line client for the pet store API',
  ];
  return `${[...title, ...markdown.split(/\n{2,}/).flatMap(manBlock)].join('\n')}\n`;
}

function manBlock(block) {
  const lines = block.split('\n');
  const [, level, title] = /^(##+) (.*)/.exec(block) ?? [];
  if (level) return level === '##' ? `.SH ${roff(title.toUpperCase())}` : `.SS ${roff(title)}`;
  if (block.startsWith('```')) return ['.PP', '.nf', ...lines.slice(1, -1).map(roff), '.fi'];
  if (!block.startsWith('| ')) return ['.PP', ...lines.map(roff)];
  return lines.slice(2).flatMap((row) => {
    const [term, ...cells] = row.slice(2, -2).split(' | ');
    return ['.TP', `.B ${roff(term)}`, roff(cells.filter((text) => text !== '').join(' '))];
  });
}

// Drops the escapes and quotes of Markdown. Escapes backslashes, a leading dot or quote, and hyphens, which could not be
// copied otherwise.
function roff(markdown) {
  return markdown
    .replace(/\\([<>*_|])|`/g, '$1')
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/, '\\&$1')
    .replace(/[^\x20-\x7e]/g, (char) => `\\[u${char.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}]`);
}

function sentence(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

if (process.argv[1] === import.meta.filename) {
  const root = join(import.meta.dirname, '..');
  const help = execFileSync(process.execPath, [join(root, 'bin', 'petstore.js'), '--help', '--json']);
  const reference = JSON.parse(help.toString());
  const update = (file, name, text) => writeFileSync(file, replaceGenerated(readFileSync(file, 'utf8'), name, text));
  update(join(root, 'docs', 'cli.md'), 'command reference', cliReference(reference));
  update(join(root, 'README.md'), 'exit codes', exitCodeTable(reference));
}
