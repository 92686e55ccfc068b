// Category services behind third-party rate limiters: `node limiters-services.mjs KIND LIMIT WINDOW_MS` prints the port.
import { createServer } from 'node:http';
import process from 'node:process';

const [kind = 'plain', limitText, windowText] = process.argv.slice(2);
const limit = Number(limitText);
const windowMs = Number(windowText);
const categories = [];

// The service of docs/service.md without its rate limit; returns [status, body].
function serve(method, key, body) {
  const error = (status, code) => [status, { code, message: code, status }];
  if (!key?.startsWith('Bearer ')) return error(401, 'unauthorized');
  if (method === 'GET') return [200, categories];
  if (method !== 'POST') return error(405, 'method_not_allowed');
  const { name, description } = JSON.parse(body || '{}');
  if (!name) return error(400, 'invalid');
  const category = { id: categories.length + 1, name, ...(description && { description }) };
  categories.push(category);
  return [201, category];
}

async function readBody(request) {
  let body = '';
  for await (const chunk of request) body += chunk;
  return body;
}

async function serveNode(request, response) {
  const [status, body] = serve(request.method, request.headers.authorization, await readBody(request));
  const text = JSON.stringify(body);
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.setHeader('content-length', Buffer.byteLength(text));
  response.end(text);
}

async function express(options) {
  const { default: createApp } = await import('express');
  const { rateLimit } = await import('express-rate-limit');
  const app = createApp();
  app.use(
    rateLimit({ limit, windowMs, legacyHeaders: false, keyGenerator: (r) => r.headers.authorization, ...options }),
  );
  app.all('/v1/categories', serveNode);
  return createServer(app);
}

const servers = {
  plain: () => createServer(serveNode),
  'express-legacy': () => express({ legacyHeaders: true, standardHeaders: false }),
  'express-draft-6': () => express({ standardHeaders: 'draft-6' }),
  'express-draft-7': () => express({ standardHeaders: 'draft-7' }),
  'express-draft-8': () => express({ standardHeaders: 'draft-8' }),
  async fastify() {
    const { default: createApp } = await import('fastify');
    const { default: plugin } = await import('@fastify/rate-limit');
    const app = createApp({ forceCloseConnections: true });
    await app.register(plugin, { max: limit, timeWindow: windowMs, keyGenerator: (r) => r.headers.authorization });
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
    app.route({
      method: ['GET', 'POST'],
      url: '/v1/categories',
      handler(request, reply) {
        const [status, body] = serve(request.method, request.headers.authorization, request.body);
        return reply.code(status).send(body);
      },
    });
    await app.ready();
    return app.server;
  },
  async hono() {
    const { Hono } = await import('hono');
    const { createAdaptorServer } = await import('@hono/node-server');
    const { rateLimiter } = await import('hono-rate-limiter');
    const app = new Hono();
    app.use(rateLimiter({ limit, windowMs, keyGenerator: (c) => c.req.header('authorization') ?? '' }));
    app.all('/v1/categories', async (c) => {
      const [status, body] = serve(c.req.method, c.req.header('authorization'), await c.req.text());
      return c.json(body, status);
    });
    return createAdaptorServer({ fetch: app.fetch });
  },
  // Sets the headers as its README does.
  async flexible() {
    const { RateLimiterMemory } = await import('rate-limiter-flexible');
    const limiter = new RateLimiterMemory({ points: limit, duration: windowMs / 1000 });
    return createServer(async (request, response) => {
      const result = await limiter.consume(request.headers.authorization ?? '').catch((refusal) => refusal);
      response.setHeader('X-RateLimit-Limit', limit);
      response.setHeader('X-RateLimit-Remaining', result.remainingPoints);
      response.setHeader('X-RateLimit-Reset', Math.ceil((Date.now() + result.msBeforeNext) / 1000));
      if (result.consumedPoints <= limit) return serveNode(request, response);
      await readBody(request);
      response.setHeader('Retry-After', result.msBeforeNext / 1000);
      response.statusCode = 429;
      response.end('Too Many Requests');
    });
  },
  async koa() {
    const { default: Koa } = await import('koa');
    const { default: ratelimit } = await import('koa-ratelimit');
    const app = new Koa();
    const db = new Map();
    app.use(ratelimit({ driver: 'memory', db, duration: windowMs, max: limit, id: (c) => c.get('authorization') }));
    app.use(async (context) => {
      const body = await readBody(context.req);
      [context.status, context.body] = serve(context.method, context.get('authorization'), body);
    });
    return createServer(app.callback());
  },
  async nest() {
    await import('reflect-metadata');
    const { All, Controller, Module, Req, Res, UseGuards } = await import('@nestjs/common');
    const { NestFactory } = await import('@nestjs/core');
    const { ThrottlerGuard, ThrottlerModule } = await import('@nestjs/throttler');
    class Categories {
      handle(request, response) {
        return serveNode(request, response);
      }
    }
    class App {}
    All()(Categories.prototype, 'handle', Object.getOwnPropertyDescriptor(Categories.prototype, 'handle'));
    Req()(Categories.prototype, 'handle', 0);
    Res()(Categories.prototype, 'handle', 1);
    Controller('v1/categories')(Categories);
    UseGuards(ThrottlerGuard)(Categories);
    Module({ imports: [ThrottlerModule.forRoot([{ ttl: windowMs, limit }])], controllers: [Categories] })(App);
    const app = await NestFactory.create(App, { logger: false, bodyParser: false });
    await app.init();
    return app.getHttpServer();
  },
};

const server = await servers[kind]();
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
