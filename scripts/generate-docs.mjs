// Generates the command reference in docs/cli.md and the README's exit codes from `petstore --help --json`:
// `node scripts/generate-docs.mjs [DIRECTORY [PROGRAM]]`, after a build, writes the two documents there.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const [directory = root, program = join(root, 'bin', 'petstore.js')] = process.argv.slice(2);
const help = execFileSync(process.execPath, [program, '--help', '--json']);
const reference = JSON.parse(help.toString());
mkdirSync(join(directory, 'docs'), { recursive: true });
update(directory, join('docs', 'cli.md'), 'command reference', cliReference(reference));
update(directory, 'README.md', 'exit codes', exitCodeTable(reference));

/** The sections of docs/cli.md on commands, global options and environment variables. */
function cliReference({ commands, globalOptions, environment }) {
  return [
    '## Commands',
    ...commands.flatMap(commandSection),
    '## Global options',
    list(globalOptions.map((one) => [one.flags, one.description])),
    'A duration is `500ms`, `30s`, `2m`, `1h`, `1d`, a sum such as `1m30s`, or a number of seconds.',
    '## Environment variables',
    list(environment.map((one) => [one.name, one.meaning])),
  ].join('\n\n');
}

function commandSection(command) {
  const { aliases, description, notes, exitCodes } = command;
  // The documents of --json have a table of their own on that page.
  const output = command.output.replace(/[;.] with --json\b.*/i, '.');
  const alias = aliases.length > 0 ? ` Alias: ${aliases.map(code).join(', ')}.` : '';
  const endings = exitCodes.length > 0 ? ` Exit codes: ${exitCodes.join(', ')}.` : '';
  const parameters = [
    ...command.arguments.map((one) => [one.name, one.description]),
    ...command.options.map((one) => [one.flags, one.description]),
  ];
  return [
    `### ${escaped(command.usage.replace(' [options]', ''))}`,
    escaped(`${description[0].toUpperCase() + description.slice(1)}.${alias} Output: ${output}${endings}`),
    list(parameters),
    paragraphs(notes),
  ].filter(Boolean);
}

function exitCodeTable({ exitCodes }) {
  const rows = exitCodes.map((one) => [one.code, one.kind ? code(one.kind) : '', one.meaning, one.retry ?? '']);
  const header = ['exit code', '`error.kind`', 'meaning', 'retry?'];
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function list(terms) {
  return terms.map(([term, text]) => `- ${code(term)}: ${escaped(text).replaceAll('\n', ' ')}`).join('\n');
}

// A paragraph with indented lines is a list of terms and keeps its line breaks.
function paragraphs(text) {
  const markdown = text.split(/\n{2,}/).map((part) => (/^\s/m.test(part) ? fence('text', part) : escaped(part)));
  return markdown.join('\n\n');
}

function fence(language, text) {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}

function code(text) {
  return `\`${text}\``;
}

// Outside of code, angle brackets would be read as HTML, stars and underscores as emphasis.
function escaped(text) {
  return text.replace(/`[^`]*`|[<>*_]/g, (found) => (found.length > 1 ? found : `\\${found}`));
}

function update(directory, file, name, text) {
  const [start, end] = ['start', 'end'].map((at) => `<!-- generated ${name}: ${at} -->`);
  const [before, rest] = readFileSync(join(root, file), 'utf8').split(start);
  writeFileSync(join(directory, file), `${before}${start}\n\n${text}\n\n${end}${rest.split(end)[1]}`);
}
