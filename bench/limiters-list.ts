// The rate limiters of the benchmark: how each is started, and the least time for a number of requests.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { installPackages } from './packages.ts';

export interface RateLimiter {
  readonly name: string;
  readonly title: string;
  /** True if its responses have the rate limit headers of docs/service.md. */
  readonly announced: boolean;
  /** Requests per window; 0 if there are no windows. */
  readonly window: number;
  /** True if it rejects with 503 instead of 429. */
  readonly status503?: boolean;
  /** The tasks to measure; by default those of every limiter. */
  readonly tasks?: readonly string[];
  /** The upper bound of the time, as a multiple of the optimum. */
  readonly bound: number;
  /** The least time from the first of `requests` to the last, milliseconds. */
  optimumMs(requests: number): number;
  start(directory: string): Promise<RunningLimiter>;
}

export interface RunningLimiter {
  readonly port: number;
  stop(): void;
}

const SERVICES = 'limiters-services.mjs';
const PACKAGES = [
  ...['express@5.3.0', 'express-rate-limit@8.7.4', 'fastify@5.12.8', '@fastify/rate-limit@11.2.0', 'hono@4.13.19'],
  ...['@hono/node-server@2.1.8', 'hono-rate-limiter@0.5.4', 'rate-limiter-flexible@11.4.0', 'koa@3.3.0'],
  ...['koa-ratelimit@6.0.0', '@nestjs/common@11', '@nestjs/core@11', '@nestjs/platform-express@11'],
  ...['@nestjs/throttler@6.7.1', 'reflect-metadata@0.2.2', 'rxjs@7.8.2'],
];

/** Installs the limiters, and copies the script that uses them; returns the directory. */
export function installLimiters(): string {
  const directory = installPackages('limiters', PACKAGES);
  copyFileSync(join('bench', SERVICES), join(directory, SERVICES));
  return directory;
}

function library(name: string, title: string, announced: boolean, limit = 20, windowMs = 5000): RateLimiter {
  return {
    name,
    title: `${title}, ${limit} per ${windowMs / 1000} s`,
    announced,
    window: limit,
    // The reset of a one-second window is rounded by as much as its length.
    bound: announced ? (windowMs <= 1000 ? 3.1 : 1.5) : 2,
    optimumMs: (requests) => (Math.ceil(requests / limit) - 1) * windowMs,
    start: (directory) => startService(directory, name.replace(/-fast$/, ''), limit, windowMs),
  };
}

function nginx(name: string, rate: string, perSecond: number, burst: number, status503 = false): RateLimiter {
  const settings = burst > 0 ? ` burst=${burst} nodelay` : '';
  return {
    name,
    title: `nginx \`limit_req\` rate=${rate}${settings}${status503 ? ', status 503' : ''}`,
    announced: false,
    window: 0,
    bound: 2,
    status503,
    optimumMs: (requests) => Math.max(0, (requests - 1 - burst) / perSecond) * 1000,
    start: (directory) =>
      startProxy(directory, 'nginx', (port, service, at) => ({
        args: ['-p', at, '-c', 'config', '-e', 'stderr'],
        config: `daemon off; master_process off; pid pid; error_log /dev/null; events {}
http {
  access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  limit_req_zone $http_authorization zone=key:1m rate=${rate};
  server {
    listen 127.0.0.1:${port}; limit_req zone=key${settings}; ${status503 ? '' : 'limit_req_status 429;'}
    location / { proxy_pass http://127.0.0.1:${service}; }
  }
}`,
      })),
  };
}

const HAPROXY: RateLimiter = {
  name: 'haproxy',
  title: 'HAProxy stick table, 20 per 5 s',
  announced: false,
  bound: 2,
  window: 20,
  // HAProxy averages over two periods, so after the first burst it admits an even 4 per second.
  optimumMs: (requests) => (requests <= 20 ? 0 : 5000 + (requests - 20) * 250),
  start: (directory) =>
    startProxy(directory, 'haproxy', (port, service) => ({
      args: ['-db', '-q', '-f', 'config'],
      config: `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend limited
  bind 127.0.0.1:${port}
  stick-table type string len 64 size 1k expire 60s store http_req_rate(5s)
  http-request track-sc0 req.hdr(authorization)
  http-request deny deny_status 429 if { sc_http_req_rate(0) gt 20 }
  default_backend service
backend service
  server one 127.0.0.1:${service}
`,
    })),
};

export const LIMITERS: readonly RateLimiter[] = [
  library('express-legacy', 'express-rate-limit, legacy headers', true),
  library('express-legacy-fast', 'express-rate-limit, legacy headers', true, 10, 1000),
  library('express-draft-6', 'express-rate-limit, draft-6', false),
  library('express-draft-7', 'express-rate-limit, draft-7', false),
  library('express-draft-8', 'express-rate-limit, draft-8', false),
  library('fastify', '@fastify/rate-limit', true),
  library('hono', 'hono-rate-limiter', false),
  library('flexible', 'rate-limiter-flexible', true),
  library('koa', 'koa-ratelimit', true),
  library('nest', '@nestjs/throttler', true),
  nginx('nginx-burst', '60r/m', 1, 10),
  nginx('nginx', '4r/s', 4, 0),
  nginx('nginx-503', '4r/s', 4, 10, true),
  HAPROXY,
];

/** Returns the Debian packages that the benchmark needs and this machine lacks. */
export function missingPackages(): string[] {
  const path = `${process.env['PATH']}:/usr/sbin`.split(':');
  return ['nginx', 'haproxy'].filter((program) => !path.some((directory) => existsSync(join(directory, program))));
}

async function startService(directory: string, kind: string, limit: number, windowMs: number): Promise<RunningLimiter> {
  const child = spawn(process.execPath, [SERVICES, kind, `${limit}`, `${windowMs}`], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [port] = await once(child.stdout, 'data');
  return { port: Number(port), stop: () => void child.kill('SIGKILL') };
}

async function startProxy(
  directory: string,
  program: string,
  configure: (port: number, service: number, at: string) => { readonly args: string[]; readonly config: string },
): Promise<RunningLimiter> {
  const service = await startService(directory, 'plain', 0, 0);
  const at = mkdtempSync(join(tmpdir(), 'limiters-bench-'));
  // Find a free port with a server that closes at once.
  const finder = createServer().listen(0, '127.0.0.1');
  await once(finder, 'listening');
  const { port } = finder.address() as AddressInfo;
  finder.close();
  const { args, config } = configure(port, service.port, at);
  writeFileSync(join(at, 'config'), config);
  const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` };
  const child = spawn(program, args, { cwd: at, env, stdio: ['ignore', 'ignore', 'inherit'] });
  // A request without a key does not count against the limit.
  while (!(await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined))) {
    if (child.exitCode !== null) throw new Error(`${program} did not start`);
    await setTimeout(50);
  }
  return {
    port,
    stop() {
      child.kill('SIGKILL');
      service.stop();
      rmSync(at, { recursive: true, force: true });
    },
  };
}
