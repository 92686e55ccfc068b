// Generates the reference in docs/cli.md from `petstore --help --json`: `node scripts/generate-docs.mjs [DIRECTORY [PROGRAM]]`,
// after a build, writes the page there.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const [directory = root, program = join(root, 'bin', 'petstore.js')] = process.argv.slice(2);
const help = execFileSync(process.execPath, [program, '--help', '--json']);
const reference = JSON.parse(help.toString());
mkdirSync(join(directory, 'docs'), { recursive: true });
const page = join('docs', 'cli.md');
const [start, end] = ['<!-- generated: start -->', '<!-- generated: end -->'];
const [before, rest] = readFileSync(join(root, page), 'utf8').split(start);
writeFileSync(join(directory, page), `${before}${start}\n\n${cliReference(reference)}\n\n${end}${rest.split(end)[1]}`);

/** The sections on commands, global options, environment variables and exit codes. */
function cliReference({ commands, globalOptions, environment, exitCodes }) {
  return [
    '## Commands',
    ...commands.flatMap(commandSection),
    '## Global options',
    list(globalOptions.map((one) => [one.flags, one.description])),
    'A duration is `500ms`, `30s`, `2m`, `1h`, `1d`, a sum such as `1m30s`, or a number of seconds.',
    '## Environment variables',
    list(environment.map((one) => [one.name, one.meaning])),
    '## Exit codes',
    exitCodeTable(exitCodes),
  ].join('\n\n');
}

function commandSection(command) {
  const { aliases, description, exitCodes } = command;
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
  ].filter(Boolean);
}

function exitCodeTable(exitCodes) {
  const rows = exitCodes.map((one) => [one.code, one.kind ? code(one.kind) : '', one.meaning, one.retry ?? '']);
  const header = ['exit code', '`error.kind`', 'meaning', 'retry?'];
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function list(terms) {
  return terms.map(([term, text]) => `- ${code(term)}: ${escaped(text).replaceAll('\n', ' ')}`).join('\n');
}

function code(text) {
  return `\`${text}\``;
}

// Outside of code, angle brackets would be read as HTML, stars and underscores as emphasis.
function escaped(text) {
  return text.replace(/`[^`]*`|[<>*_]/g, (found) => (found.length > 1 ? found : `\\${found}`));
}
