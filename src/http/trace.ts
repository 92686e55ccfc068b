// What --verbose shows of every try: request, reply, headers and timing; the key and query values never.
import type { Clock } from '../clock.ts';
import { escapeControls } from '../escape.ts';
import type { HttpHeaders, Transport } from './types.ts';
import { TransportError } from './types.ts';

/**
 * Wraps a transport so that every try is told.
 * @param transport what sends
 * @param baseUrl shown before the path
 * @param clock for the time a try took
 * @param write takes one line without its break, already safe to print
 * @returns the same transport, told
 */
export function trace(transport: Transport, baseUrl: string, clock: Clock, write: (line: string) => void): Transport {
  return {
    async send(request, how) {
      const path = request.path.replace(/(=)[^&]*/g, '$1[…]');
      const start = clock.monotonic();
      const took = (): string => `${Math.round(clock.monotonic() - start)} ms`;
      write(escapeControls(`> ${request.method} ${baseUrl}${path}`));
      write('> authorization: Bearer [redacted]');
      if (request.body !== undefined)
        write(`> content-type: application/json (${Buffer.byteLength(request.body)} bytes)`);
      try {
        const reply = await transport.send(request, how);
        write(`< ${reply.status} in ${took()}, ${reply.body.length} bytes`);
        for (const line of headerLines(reply.headers)) write(line);
        return reply;
      } catch (error) {
        const said =
          error instanceof TransportError
            ? `${error.detail}${error.head ? ` (after status ${error.head.status})` : ''}`
            : 'failed';
        write(escapeControls(`< ${said}, after ${took()}`));
        throw error;
      }
    },
  };
}

// A reply may carry cookies and tokens: only headers known to hold none are shown with their value.
const SHOWN =
  /^(?:x-ratelimit-[\w-]+|ratelimit[\w-]*|retry-after[\w-]*|date|age|content-(?:type|length)|deprecation|sunset|location|server|x-request-id|x-stability|x-sandbox-[\w-]+|allow|connection)$/;

function headerLines(headers: HttpHeaders): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    const values = typeof value === 'string' ? [value] : (value ?? []);
    return values.map((one) => escapeControls(`< ${name}: ${SHOWN.test(name) ? one : '[…]'}`));
  });
}
