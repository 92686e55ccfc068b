// Draws docs/demo.svg: runs the built program in a pseudo-terminal and renders the screen as SVG.
// `npm run docs:demo`, or after a build `node scripts/demo.mjs [DIRECTORY]`.
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from '@lydell/node-pty';
import xterm from '@xterm/headless';

const IMPORT = 'petstore categories import species.csv -p sandbox';
const COMMANDS = [
  'head -n 3 species.csv',
  'petstore categories create --name dog --description "Canis familiaris" -p sandbox',
  IMPORT,
  IMPORT,
  'petstore categories list --search felis -p sandbox',
  "petstore categories list --search felis --json -p sandbox | jq -r '.[].name'",
];
/** The first import is interrupted when this text appears, so that the next one finds rows to skip. */
const INTERRUPT_AT = 'waiting';
// More rows than the sandbox allows requests in a minute.
const SPECIES = [
  'cat,Felis catus',
  'rabbit,Oryctolagus cuniculus',
  'sand cat,Felis margarita',
  'wildcat,Felis silvestris',
  ...Array.from({ length: 71 }, (_, at) => `species ${at + 1},`),
].join('\n');
const SIZE = { cols: 84, rows: 40 };
const PROMPT = '$ ';

const CELL = { width: 8.43, height: 19 };
const MARGIN = 20;
const PAPER = '#0b1320';
// The numbers are colors of a terminal: red, green, yellow and cyan.
const COLORS = { ink: '#d6deeb', dim: '#7c8a9e', 1: '#ff6b6b', 2: '#8bd49c', 3: '#ffd479', 6: '#5ccfe6' };

writeFileSync(join(process.argv[2] ?? 'docs', 'demo.svg'), draw(await record()));

/** Types the commands into a shell, each when the prompt has appeared; returns the screen and the erased progress line. */
async function record() {
  const home = mkdtempSync(join(tmpdir(), 'petstore-demo-'));
  symlinkSync(join(import.meta.dirname, '..', 'bin', 'petstore.js'), join(home, 'petstore'));
  writeFileSync(join(home, 'species.csv'), `name,description\n${SPECIES}\n`);
  const env = {
    PATH: `${home}:${process.env.PATH}`,
    HOME: home,
    TERM: 'xterm-256color',
    LANG: 'C.UTF-8',
    PS1: PROMPT,
    PETSTORE_CONFIG_DIR: join(home, 'config'),
    PETSTORE_STATE_DIR: join(home, 'state'),
  };
  const shell = spawn('bash', ['--norc', '--noprofile', '-i'], { ...SIZE, cwd: home, env });
  const terminal = new xterm.Terminal({ ...SIZE, allowProposedApi: true });
  const remaining = [...COMMANDS, 'exit'];
  let interrupted = false;
  let erased;
  shell.onData((text) => {
    terminal.write(text, () => {
      const { cursorX, cursorY, baseY } = terminal.buffer.active;
      const line = terminal.buffer.active.getLine(baseY + cursorY);
      const shown = line?.translateToString() ?? '';
      if (cursorX === PROMPT.length && shown.startsWith(PROMPT) && remaining.length > 0) {
        shell.write(`${remaining.shift()}\r`);
      } else if (!interrupted && shown.includes(INTERRUPT_AT)) {
        interrupted = true;
        shell.write('\x03');
      } else if (interrupted && shown.includes('^C')) {
        // Keep a copy of the progress line with the echo of Ctrl-C, which is erased when the import ends.
        erased ??= { row: baseY + cursorY, runs: runs(line) };
      }
    });
  });
  await new Promise((ended) => shell.onExit(ended));
  await new Promise((written) => terminal.write('', written));
  rmSync(home, { recursive: true, force: true });
  if (!erased) throw new Error('the terminal did not show ^C');
  return { buffer: terminal.buffer.active, erased };
}

function draw({ buffer, erased }) {
  const lines = Array.from({ length: buffer.length }, (_, row) => buffer.getLine(row));
  const end = lines.findIndex((line) => line.translateToString(true) === `${PROMPT}exit`);
  const shown = lines.slice(0, end).map(runs);
  shown.splice(erased.row, 0, erased.runs);
  const width = Math.round(SIZE.cols * CELL.width) + 2 * MARGIN;
  const height = shown.length * CELL.height + 2 * MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    '<title>Terminal session: create a category, interrupt an import at the rate limit, run it again, list categories as a table and as JSON</title>',
    `<rect width="${width}" height="${height}" rx="10" fill="${PAPER}"/>`,
    `<g font-family="ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" xml:space="preserve">`,
    ...shown.flatMap((line, row) => line.map((run) => textOf(run, row))),
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

/** Neighboring cells of one style, as text with the column where it starts. */
function runs(line) {
  const found = [];
  const typed = line.translateToString().startsWith(PROMPT);
  for (let column = 0; column < line.length; column++) {
    const cell = line.getCell(column);
    if (cell.getWidth() === 0) continue;
    const style = styleOf(cell, typed && column < PROMPT.length);
    const last = found.at(-1);
    if (last?.style === style) last.text += cell.getChars() || ' ';
    else found.push({ column, style, text: cell.getChars() || ' ' });
  }
  return found.filter(({ text }) => text.trim() !== '');
}

function styleOf(cell, isPrompt) {
  const color = isPrompt ? 6 : cell.isDim() ? 'dim' : cell.isFgPalette() ? cell.getFgColor() : 'ink';
  return `${color}${cell.isBold() ? ' bold' : ''}`;
}

function textOf({ column, style, text }, row) {
  const [color, weight] = style.split(' ');
  const bold = weight ? ' font-weight="bold"' : '';
  const x = (MARGIN + column * CELL.width).toFixed(1);
  const y = MARGIN + 14 + row * CELL.height;
  const trimmed = text.trimEnd();
  const length = (trimmed.length * CELL.width).toFixed(1);
  const escaped = trimmed.replace(/[&<>]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[char]);
  return `<text x="${x}" y="${y}" textLength="${length}" fill="${COLORS[color]}"${bold}>${escaped}</text>`;
}
