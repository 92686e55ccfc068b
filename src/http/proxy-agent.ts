// Sends requests through a proxy (CONNECT). Loaded only if a proxy is used, because undici's entry takes 45 ms to load.
import type { Dispatcher } from 'undici';
import { Pool, ProxyAgent } from 'undici';

/** @param options undici's pool options; `connect` applies to the proxy and to the service behind it */
export function openProxyAgent(proxy: URL, { connect, ...options }: Pool.Options): Dispatcher {
  const tls = connect as ProxyAgent.Options['requestTls'];
  const clientFactory = (origin: URL, how: object): Dispatcher => new ProxyPool(origin, how);
  return new ProxyAgent({
    ...options,
    uri: proxy.href,
    requestTls: tls,
    proxyTls: tls,
    clientFactory,
  } as ProxyAgent.Options);
}

// Replaces the error code, because undici reconnects endlessly if a proxy closes the connection without a response.
class ProxyPool extends Pool {
  override connect(options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData>;
  override connect(): void;
  override connect(options?: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
    return super.connect(options as Dispatcher.ConnectOptions).catch((cause: NodeJS.ErrnoException) => {
      const code = cause.code === 'UND_ERR_SOCKET' ? 'ECONNRESET' : cause.code;
      throw Object.assign(new Error(cause.message, { cause }), { name: cause.name, code });
    });
  }
}
