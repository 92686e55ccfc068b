// Generates the reference in docs/cli.md from `petstore --help --json`: `node scripts/generate-docs.mjs [DIRECTORY [PROGRAM]]`,
// after a build, writes DIRECTORY/docs/cli.md.
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
    commands.flatMap(commandItem).join('\n'),
    '## Global options',
    globalOptions.map((one) => item(one.flags, one.description)).join('\n'),
    'A duration is `500ms`, `30s`, `2m`, `1h`, `1d`, a sum such as `1m30s`, or a number of seconds.',
    '## Environment variables',
    environment.map((one) => item(one.name, one.meaning)).join('\n'),
    '## Exit codes',
    exitCodeTable(exitCodes),
  ].join('\n\n');
}

/** A command, with its arguments and options as a nested list. Its help has the rest: notes, examples and exit codes. */
function commandItem(command) {
  const alias = command.aliases.length > 0 ? ` Alias: ${command.aliases.map(code).join(', ')}.` : '';
  // The page has a table of its own for the documents of `--json`.
  const output = command.output.replace(/[;.] with --json\b.*/i, '.');
  const usage = command.usage.replace(' [options]', '');
  return [
    `- **${code(usage)}**: ${marked(command.description)}.${alias} Output: ${marked(output)}`,
    ...command.arguments.map((one) => `  ${item(one.name, one.description)}`),
    ...command.options.map((one) => `  ${item(one.flags, one.description)}`),
  ];
}

function exitCodeTable(exitCodes) {
  const rows = exitCodes.map((one) => [one.code, one.kind ? code(one.kind) : '', one.meaning, one.retry ?? '']);
  const header = ['exit code', '`error.kind`', 'meaning', 'retry?'];
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function item(term, text) {
  return `- ${code(term)}: ${marked(text).replaceAll('\n', ' ')}`;
}

function code(text) {
  return `\`${text}\``;
}

// Marks options and names with an underscore as code, and escapes characters that start HTML or emphasis.
function marked(text) {
  return text.replace(/`[^`]*`|--[a-z][\w-]*|\w+_\w+|[<>*]/g, (found) => {
    if (found.startsWith('`')) return found;
    return found.length > 1 ? code(found) : `\\${found}`;
  });
}
