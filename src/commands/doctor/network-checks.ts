// The network checks of `petstore doctor`: name resolution, connection, certificate, and the state server.
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect as connectTcp, isIP } from 'node:net';
import type { PeerCertificate } from 'node:tls';
import { connect as connectTls } from 'node:tls';
import type { StateServer } from '../../append-log/state-server.ts';
import type { Clock } from '../../clock.ts';
import { PetstoreError } from '../../errors.ts';
import { proxyFor } from '../../http/proxy.ts';
import { certificateProblem, toTransportError } from '../../http/transport-errors.ts';
import type { Session } from '../../session.ts';
import type { CheckResult, Tests } from './check.ts';
import { ok, skipped, warning } from './check.ts';

/** What is connected to: the proxy where there is one, otherwise the service. */
interface Peer {
  readonly host: string;
  readonly port: number;
  readonly https: boolean;
  /** Its name in messages. */
  readonly what: string;
  /** Without user info. */
  readonly proxy: string | undefined;
  /** For each step. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const STEP_TIMEOUT_MS = 10_000;

/** The checks of the connection; the embedded sandbox needs none. */
export function connectionTests(session: Session): Tests {
  const toPeer = (test: (peer: Peer) => Promise<CheckResult> | CheckResult) => async (): Promise<CheckResult> => {
    const { baseUrl } = await session.target();
    return baseUrl === '' ? skipped('not applicable to the sandbox') : test(peerOf(session, new URL(baseUrl)));
  };
  return {
    Proxy: toPeer(({ proxy }) => ok(proxy ?? 'none')),
    DNS: toPeer(resolveName),
    TCP: toPeer(connect),
    TLS: toPeer(handshake),
  };
}

/** @throws PetstoreError `usage` for an invalid proxy */
function peerOf({ context, options }: Session, service: URL): Peer {
  const proxy = proxyFor(service, context.env);
  const url = proxy ?? service;
  const https = url.protocol === 'https:';
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || (https ? 443 : 80),
    https,
    what: proxy ? `proxy ${proxy.hostname}` : service.hostname,
    proxy: proxy && `${proxy.protocol}//${proxy.host}`,
    timeoutMs: Math.min(STEP_TIMEOUT_MS, options.timeoutMs),
    signal: context.signal,
  };
}

async function resolveName({ host, what }: Peer): Promise<CheckResult> {
  try {
    const addresses = await lookup(host, { all: true });
    return ok(`${host} resolves to ${addresses.map(({ address }) => address).join(', ')}`);
  } catch (error) {
    throw unreachable(error, `${what} cannot be resolved`, 'check the host name in the base URL and the network');
  }
}

async function connect(peer: Peer): Promise<CheckResult> {
  const { host, port, what } = peer;
  try {
    return await connected(connectTcp({ host, port }), 'connect', peer, () => ok(`connected to ${what}, port ${port}`));
  } catch (error) {
    throw unreachable(error, `${what}, port ${port}`, 'check the base URL, the network, firewalls and HTTPS_PROXY');
  }
}

async function handshake(peer: Peer): Promise<CheckResult> {
  const { host, port, https, what } = peer;
  if (!https) return skipped(`${what} uses http`);
  // Nothing is sent over this connection: an invalid certificate is accepted only to be described.
  const options = { host, port, rejectUnauthorized: false };
  // An IP address is not a server name (RFC 6066, section 3).
  const socket = connectTls(isIP(host) === 0 ? { ...options, servername: host } : options);
  try {
    return await connected(socket, 'secureConnect', peer, () => {
      const certificate = socket.getPeerCertificate();
      // Node documents an Error here and sets its code.
      if (!socket.authorized) throw certificateError(String(socket.authorizationError), certificate, what);
      return ok(`${socket.getProtocol()}, certificate valid until ${certificate.valid_to}`);
    });
  } catch (error) {
    throw unreachable(error, `TLS handshake with ${what}`, 'check that the port of the base URL serves https');
  }
}

const MAX_NAMES = 10;

function certificateError(code: string, certificate: PeerCertificate, what: string): PetstoreError {
  const { valid_from, valid_to, issuer, subjectaltname = '' } = certificate;
  const problem = certificateProblem(code) ?? 'the certificate is not valid';
  const fail = (detail: string, hint: string): PetstoreError =>
    new PetstoreError('network', `TLS handshake with ${what}: ${problem} (${detail})`, { hint });
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    const hint = "check this machine's clock; otherwise the service needs a new certificate";
    return fail(`valid from ${valid_from} to ${valid_to}`, hint);
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = subjectaltname.replace(/(?:DNS|IP Address):/g, '').split(', ');
    return fail(`valid for ${names.slice(0, MAX_NAMES).join(', ')}`, 'check the host name in the base URL');
  }
  const hint = 'behind a proxy that inspects TLS, set NODE_EXTRA_CA_CERTS to its certificate';
  return fail(`issued by "${issuer?.CN}"`, hint);
}

// Waits until the socket is connected, reads the result, and closes the socket.
async function connected(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  { timeoutMs, signal }: Peer,
  read: () => CheckResult,
): Promise<CheckResult> {
  try {
    socket.setTimeout(timeoutMs, () => socket.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })));
    await once(socket, event, { signal });
    // A closed socket has no certificate.
    return read();
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    // Closing may fail too, which does not matter.
    socket.on('error', () => undefined);
    socket.destroy();
  }
}

function unreachable(error: unknown, what: string, hint: string): PetstoreError {
  if (error instanceof PetstoreError) return error;
  const failure = toTransportError(error instanceof Error ? error : new Error('unknown'), false);
  return new PetstoreError('network', `${what}: ${failure.detail}`, { hint, cause: error });
}

// Every command that the ledger and the journals use.
const COMMANDS = `
local log, set, scores = KEYS[1], KEYS[2], KEYS[3]
redis.call('TIME')
redis.call('XADD', log, '*', 'r', '')
redis.call('XRANGE', log, '-', '+')
redis.call('XLEN', log)
redis.call('EXISTS', log)
redis.call('ZADD', scores, 1, 'a')
redis.call('ZSCORE', scores, 'a')
redis.call('ZREMRANGEBYSCORE', scores, '-inf', 0)
redis.call('SADD', set, 'a')
redis.call('SMEMBERS', set)
for i = 1, 3 do
  redis.call('PEXPIRE', KEYS[i], 1000)
  redis.call('DEL', KEYS[i])
end`;

/** The checks of the state server, if one is configured. */
export function stateServerTests(session: Session): Tests {
  if (!session.context.env['PETSTORE_STATE_URL']) return {};
  const toServer = (test: (server: StateServer) => Promise<CheckResult>) => async (): Promise<CheckResult> => {
    const server = await session.stateServer();
    if (!server) return skipped('not configured');
    try {
      return await test(server);
    } finally {
      server.close();
    }
  };
  return {
    'State server': toServer((server) => runCommands(server, session.context.clock)),
    Persistence: toServer(checkPersistence),
  };
}

async function runCommands(server: StateServer, clock: Clock): Promise<CheckResult> {
  const { script } = await import('../../append-log/valkey-connection.ts');
  const since = clock.monotonic();
  const keys = ['log', 'set', 'scores'].map((name) => `petstore:{doctor}:${name}`);
  await server.checked((connection) => connection.run(script(COMMANDS), keys, []));
  const took = `responded in ${Math.round(clock.monotonic() - since)} ms`;
  return ok(`${server.name}, ${server.tls ? 'TLS' : 'no TLS'}, all commands permitted, ${took}`);
}

async function checkPersistence(server: StateServer): Promise<CheckResult> {
  const info = await server.checked((connection) => connection.info());
  if (info.get('aof_enabled') === '1') return ok('append-only file on');
  const detail = 'append-only file off: an import may lose records when the server restarts';
  return warning(detail, 'set `appendonly yes` and `appendfsync always`');
}
