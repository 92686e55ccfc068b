// The transport: undici and the sockets below it, replaced by the network of the world.
import type { Transport } from '../../../src/http/types.ts';
import { callingProcess, surroundings } from './world.ts';

export function createTransport({ now }: { readonly now: () => number }): Transport {
  return surroundings().network.connect(callingProcess(), now);
}
