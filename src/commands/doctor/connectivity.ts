// The network checks of `petstore doctor`: name resolution, connection, certificate.
import { lookup } from 'node:dns/promises';
import type { Socket } from 'node:net';
import { connect as connectTcp } from 'node:net';
import type { PeerCertificate } from 'node:tls';
import { connect as connectTls } from 'node:tls';
import { PetstoreError } from '../../errors.ts';
import { certificateProblem, toTransportError } from '../../http/transport-errors.ts';
import type { Check } from './check.ts';
import { attempt, ok, skippedAll } from './check.ts';

export interface ConnectionTarget {
  /** The service, or the proxy where there is one. */
  readonly url: URL;
  /** Its name in messages. */
  readonly what: string;
  /** For each step. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Checks each step; after a failed one the rest is skipped. */
export async function checkConnectivity(target: ConnectionTarget): Promise<readonly Check[]> {
  const host = target.url.hostname.replace(/^\[|\]$/g, '');
  const dns = await attempt('DNS', () => resolveName(host, target));
  if (dns.status === 'failed') return [dns, ...skippedAll(['TCP', 'TLS'], 'DNS failed')];
  const tcp = await attempt('TCP', () => connectTo(host, target));
  if (tcp.status === 'failed') return [dns, tcp, ...skippedAll(['TLS'], 'TCP failed')];
  if (target.url.protocol !== 'https:') return [dns, tcp, ...skippedAll(['TLS'], `${target.what} uses http`)];
  return [dns, tcp, await attempt('TLS', () => handshake(host, target))];
}

async function resolveName(host: string, target: ConnectionTarget): Promise<Check> {
  try {
    const addresses = await lookup(host, { all: true });
    return ok('DNS', `${host} resolves to ${addresses.map(({ address }) => address).join(', ')}`);
  } catch (error) {
    throw unreachable(
      error,
      `${target.what} cannot be resolved`,
      'check the host name in the base URL and the network',
    );
  }
}

async function connectTo(host: string, target: ConnectionTarget): Promise<Check> {
  const port = portOf(target.url);
  try {
    await settled(connectTcp({ host, port }), 'connect', target, () => undefined);
    return ok('TCP', `connected to ${target.what}, port ${port}`);
  } catch (error) {
    throw unreachable(
      error,
      `${target.what}, port ${port}`,
      'check the base URL, the network, firewalls and HTTPS_PROXY',
    );
  }
}

async function handshake(host: string, target: ConnectionTarget): Promise<Check> {
  // Nothing is sent over this connection: an invalid certificate is accepted only to be described.
  const options = { host, port: portOf(target.url), rejectUnauthorized: false };
  const socket = connectTls(isName(host) ? { ...options, servername: host } : options);
  try {
    return await settled(socket, 'secureConnect', target, () => {
      const certificate = socket.getPeerCertificate();
      // Node documents an Error here and sets its code.
      if (!socket.authorized) throw certificateError(String(socket.authorizationError), certificate, target.what);
      return ok('TLS', `${socket.getProtocol()}, certificate valid until ${certificate.valid_to}`);
    });
  } catch (error) {
    throw unreachable(error, `TLS handshake with ${target.what}`, 'check that the port of the base URL serves https');
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

// Waits for one event of a socket, reads what is asked for, and closes the socket.
async function settled<T>(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  target: ConnectionTarget,
  read: () => T,
): Promise<T> {
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once(event, resolve);
      socket.once('error', reject);
      socket.setTimeout(target.timeoutMs, () => reject(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })));
      target.signal.addEventListener('abort', () => reject(target.signal.reason), { once: true });
    });
    // A closed socket has no certificate.
    return read();
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

function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
}

// An IP address is not a server name (RFC 6066, section 3).
function isName(host: string): boolean {
  return !/^[\d.]+$/.test(host) && !host.includes(':');
}
