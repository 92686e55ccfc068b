// Draws docs/demo.svg from a real terminal session: the built program in a pseudo-terminal, its screen as SVG.
// `node scripts/demo.mjs [FILE]`; needs `npm run build` first.
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from '@lydell/node-pty';
import xterm from '@xterm/headless';

const COMMANDS = [
  'petstore categories create --name dog --description "Canis familiaris"',
  'petstore categories import species.csv',
  'petstore categories list',
  'petstore categories list --json | head -c 60; echo …',
  'petstore categories create --nmae fish',
];
const SPECIES = 'name,description\ncat,Felis catus\nrabbit,Oryctolagus cuniculus\nparrot,"Talks, mostly"\n';
const SIZE = { cols: 84, rows: 40 };
const PROMPT = '$ ';

const CELL = { width: 8.43, height: 19 };
const MARGIN = 20;
const TITLE_BAR = 34;
const COLORS = { ink: '#d6deeb', paper: '#0b1320', dim: '#7c8a9e', prompt: '#5ccfe6' };
// The eight colours of a terminal, then their bright forms.
const PALETTE = [
  ['#2b3648', '#ff6b6b', '#8bd49c', '#ffd479', '#6cb6ff', '#d2a6ff', '#5ccfe6', '#d6deeb'],
  ['#7c8a9e', '#ff8f8f', '#a8e6b4', '#ffe3a3', '#8ccaff', '#e2c5ff', '#86e1f0', '#ffffff'],
].flat();

const screen = await record();
writeFileSync(process.argv[2] ?? 'docs/demo.svg', draw(screen));

/** Types the commands into a shell, each when the prompt has appeared, and returns the screen afterwards. */
async function record() {
  const home = mkdtempSync(join(tmpdir(), 'petstore-demo-'));
  symlinkSync(join(import.meta.dirname, '..', 'bin', 'petstore.js'), join(home, 'petstore'));
  writeFileSync(join(home, 'species.csv'), SPECIES);
  const env = {
    PATH: `${home}:${process.env.PATH}`,
    HOME: home,
    TERM: 'xterm-256color',
    LANG: 'C.UTF-8',
    PS1: PROMPT,
    PETSTORE_PROFILE: 'sandbox',
    PETSTORE_CONFIG_DIR: join(home, 'config'),
    PETSTORE_STATE_DIR: join(home, 'state'),
  };
  const shell = spawn('bash', ['--norc', '--noprofile', '-i'], { ...SIZE, cwd: home, env });
  const terminal = new xterm.Terminal({ ...SIZE, allowProposedApi: true });
  const remaining = [...COMMANDS, 'exit'];
  shell.onData((text) => {
    terminal.write(text, () => {
      const { cursorX, cursorY, baseY } = terminal.buffer.active;
      const line = terminal.buffer.active.getLine(baseY + cursorY)?.translateToString();
      if (cursorX === PROMPT.length && line?.startsWith(PROMPT) && remaining.length > 0) {
        shell.write(`${remaining.shift()}\r`);
      }
    });
  });
  await new Promise((ended) => shell.onExit(ended));
  await new Promise((written) => terminal.write('', written));
  rmSync(home, { recursive: true, force: true });
  return terminal.buffer.active;
}

function draw(buffer) {
  const lines = Array.from({ length: buffer.length }, (_, row) => buffer.getLine(row));
  const end = lines.findIndex((line) => line.translateToString(true) === `${PROMPT}exit`);
  const shown = lines.slice(0, end);
  const width = Math.round(SIZE.cols * CELL.width) + 2 * MARGIN;
  const height = shown.length * CELL.height + TITLE_BAR + 2 * MARGIN;
  const dots = ['#ff5f57', '#febc2e', '#28c840'].map(
    (color, at) => `<circle cx="${MARGIN + 4 + at * 20}" cy="20" r="6" fill="${color}"/>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    '<title>A terminal session with petstore</title>',
    `<rect width="${width}" height="${height}" rx="10" fill="${COLORS.paper}"/>`,
    ...dots,
    `<g font-family="ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="${COLORS.ink}" xml:space="preserve">`,
    ...shown.flatMap((line, row) => runs(line).map((run) => textOf(run, row))),
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

/** Neighbouring cells of one style, as text with the column where it starts. */
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
  const color = isPrompt
    ? COLORS.prompt
    : cell.isDim()
      ? COLORS.dim
      : PALETTE[cell.isFgPalette() ? cell.getFgColor() : -1];
  return `${color ? ` fill="${color}"` : ''}${cell.isBold() ? ' font-weight="bold"' : ''}`;
}

function textOf({ column, style, text }, row) {
  const x = (MARGIN + column * CELL.width).toFixed(1);
  const y = TITLE_BAR + MARGIN + row * CELL.height;
  const trimmed = text.trimEnd();
  const length = (trimmed.length * CELL.width).toFixed(1);
  const escaped = trimmed.replace(/[&<>]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[char]);
  return `<text x="${x}" y="${y}" textLength="${length}"${style}>${escaped}</text>`;
}
