// A TCP proxy on loopback that adds latency, as a network between two machines would.
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';

export interface DelayingProxy {
  readonly port: number;
  close(): void;
}

/** Adds half of the latency in each direction. */
export async function delayingProxy(target: number, latencyMs: number): Promise<DelayingProxy> {
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('data', (data) => setTimeout(() => to.write(data), latencyMs / 2));
      from.on('error', () => to.destroy());
      from.on('close', () => setTimeout(() => to.destroy(), latencyMs / 2));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}
