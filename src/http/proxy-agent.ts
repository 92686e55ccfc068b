// Sends requests through a proxy (CONNECT). Loaded only if a proxy is used.
import type { Dispatcher, Pool as PoolTypes, ProxyAgent as ProxyTypes } from 'undici';
import connect from 'undici/lib/api/api-connect.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import ProxyAgent from 'undici/lib/dispatcher/proxy-agent.js';

/** @param options undici's pool options; `connect` applies to the proxy and to the service behind it */
export function openProxyAgent(proxy: URL, { connect: tls, ...options }: PoolTypes.Options): Dispatcher {
  const clientFactory = (origin: URL, how: object): Dispatcher => new ProxyPool(origin, how);
  return new ProxyAgent({
    ...options,
    uri: proxy.href,
    requestTls: tls,
    proxyTls: tls,
    clientFactory,
  } as ProxyTypes.Options);
}

// Replaces the error code, because undici reconnects endlessly if a proxy closes the connection without a response.
class ProxyPool extends Pool {
  override connect(options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData>;
  override connect(): void;
  override connect(options?: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
    return connect.call(this, options as Dispatcher.ConnectOptions).catch((cause: NodeJS.ErrnoException) => {
      const code = cause.code === 'UND_ERR_SOCKET' ? 'ECONNRESET' : cause.code;
      throw Object.assign(new Error(cause.message, { cause }), { name: cause.name, code });
    });
  }
}
