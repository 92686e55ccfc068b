// Starts a Valkey or Redis server, which can be killed, suspended and restarted.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { installed, missingPrograms, PROGRAM_ENV } from './programs.ts';
import { startTcpServer } from './raw-server.ts';
import { tempDir } from './temp-dir.ts';
import { TEST_CERT, TEST_KEY } from './tls.ts';

export const SERVER_PROGRAMS = installed('redis');

interface RedisOptions {
  /** Further arguments, for example `--appendonly yes`. */
  readonly args?: readonly string[];
  readonly tls?: boolean;
  readonly program?: string;
}

export class RedisServer {
  readonly port: number;
  readonly dir: string;
  readonly certFile: string;
  readonly #options: RedisOptions;
  #child: ChildProcess | undefined;

  private constructor(port: number, options: RedisOptions) {
    this.port = port;
    this.#options = options;
    this.dir = tempDir();
    this.certFile = join(this.dir, 'cert.pem');
    writeFileSync(this.certFile, TEST_CERT);
    writeFileSync(join(this.dir, 'key.pem'), TEST_KEY);
  }

  static async start(options: RedisOptions = {}): Promise<RedisServer> {
    if (SERVER_PROGRAMS.length === 0) throw new Error(`install ${missingPrograms()}`);
    // Find a free port.
    const { port, close } = await startTcpServer(() => undefined);
    close();
    const server = new RedisServer(port, options);
    await server.start();
    return server;
  }

  get url(): string {
    return this.#options.tls ? `rediss://localhost:${this.port}` : `redis://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const { tls, args = [], program = SERVER_PROGRAMS[0] ?? '' } = this.#options;
    const port = String(this.port);
    const secure = ['--port', '0', '--tls-port', port, '--tls-cert-file', this.certFile, '--tls-auth-clients', 'no'];
    const listen = tls ? [...secure, '--tls-key-file', join(this.dir, 'key.pem')] : ['--port', port];
    const fixed = ['--bind', '127.0.0.1', '--save', '', '--dir', this.dir];
    const child = spawn(program, [...listen, ...fixed, ...args], { env: PROGRAM_ENV, stdio: 'ignore' });
    this.#child = child;
    // A server accepts connections before its data is loaded.
    while ((await this.command('PING').catch(() => '-LOADING')).startsWith('-LOADING')) {
      if (child.exitCode !== null) throw new Error(`${program} ended with code ${child.exitCode}`);
      await sleep(20);
    }
  }

  /** Ends the server without a shutdown, as a crash would. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** Suspends the server, which keeps its connections and accepts new ones. */
  suspend(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Sends one command and returns the raw reply. */
  async command(...words: readonly string[]): Promise<string> {
    const at = { port: this.port, host: '127.0.0.1' };
    const socket = this.#options.tls ? connectTls({ ...at, rejectUnauthorized: false }) : connect(at);
    socket.write(`*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`);
    const [reply] = await once(socket, 'data');
    socket.destroy();
    return String(reply);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
