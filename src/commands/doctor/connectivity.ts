// The doctor's way to a host, step by step: its name, the connection, the certificate.
import { lookup } from 'node:dns/promises';
import type { Socket } from 'node:net';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { PetstoreError } from '../../errors.ts';
import { toTransportError } from '../../http/transport-errors.ts';
import type { Check } from './check.ts';
import { attempt, ok, skipped } from './check.ts';

/** Where to connect. */
export interface ConnectionTarget {
  /** The service's URL, or the proxy's where there is one. */
  readonly url: URL;
  /** How a message names it. */
  readonly what: string;
  /** Milliseconds each step may take. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Tries the steps in turn.
 * @param place where to
 * @returns one check for name resolution, connection and certificate each; after a failed one the rest is skipped
 */
export async function checkConnectivity(place: ConnectionTarget): Promise<readonly Check[]> {
  const host = place.url.hostname.replace(/^\[|\]$/g, '');
  const dns = await attempt('DNS', () => resolveName(host, place));
  if (dns.status === 'failed') return [dns, skipped('TCP', 'no address'), skipped('TLS', 'no address')];
  const tcp = await attempt('TCP', () => connectTo(host, place));
  if (tcp.status === 'failed') return [dns, tcp, skipped('TLS', 'no connection')];
  if (place.url.protocol !== 'https:') return [dns, tcp, skipped('TLS', `${place.what} is reached by http`)];
  return [dns, tcp, await attempt('TLS', () => handshake(host, place))];
}

async function resolveName(host: string, place: ConnectionTarget): Promise<Check> {
  try {
    const addresses = await lookup(host, { all: true });
    return ok('DNS', `${host} is ${addresses.map(({ address }) => address).join(', ')}`);
  } catch (error) {
    throw unreachable(error, `${place.what} has no address`, 'check the host name in the URL, and the network');
  }
}

async function connectTo(host: string, place: ConnectionTarget): Promise<Check> {
  const port = portOf(place.url);
  try {
    await settled(connectTcp({ host, port }), 'connect', place, () => undefined);
    return ok('TCP', `connected to ${place.what}, port ${port}`);
  } catch (error) {
    throw unreachable(error, `${place.what}, port ${port}`, 'check the URL, the network, a firewall or HTTPS_PROXY');
  }
}

async function handshake(host: string, place: ConnectionTarget): Promise<Check> {
  const socket = connectTls({ host, port: portOf(place.url), ...(isName(host) ? { servername: host } : {}) });
  try {
    const said = await settled(socket, 'secureConnect', place, () => {
      return `${socket.getProtocol()}, certificate good until ${socket.getPeerCertificate().valid_to}`;
    });
    return ok('TLS', said);
  } catch (error) {
    const remedy = 'behind a company proxy set NODE_EXTRA_CA_CERTS to its certificate; there is no way to ignore it';
    throw unreachable(error, `the certificate of ${place.what}`, remedy);
  }
}

// Waits for one event of a socket and takes a look; then it is closed, whatever happened.
async function settled<T>(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  place: ConnectionTarget,
  look: () => T,
): Promise<T> {
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once(event, resolve);
      socket.once('error', reject);
      socket.setTimeout(place.timeoutMs, () => reject(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })));
      place.signal.addEventListener('abort', () => reject(place.signal.reason), { once: true });
    });
    // A socket that is closed has no certificate any more.
    return look();
  } finally {
    // Closing may fail as well, and nobody is interested any more.
    socket.on('error', () => undefined);
    socket.destroy();
  }
}

function unreachable(error: unknown, what: string, hint: string): PetstoreError {
  if (error instanceof PetstoreError) return error;
  const failure = toTransportError(error instanceof Error ? error : new Error('unknown'), false);
  return new PetstoreError('network', `${what}: ${failure.detail}`, { hint, cause: error });
}

function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
}

// An address is no server name (RFC 6066, 3).
function isName(host: string): boolean {
  return !/^[\d.]+$/.test(host) && !host.includes(':');
}
