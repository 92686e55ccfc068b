// Prints each attempt for --verbose: request, status, headers, duration and the body of an error. The API key, headers that may
// contain secrets, and query values are redacted.
import type { Clock } from '../clock.ts';
import { escapeControls } from '../text/escape.ts';
import { formatCount } from '../text/format.ts';
import type { HttpHeaders, HttpResponse, Transport } from './types.ts';
import { TransportError } from './types.ts';

/** @param write prints one line, in which control characters are already escaped */
export function withTracing(
  transport: Transport,
  baseUrl: string,
  clock: Clock,
  write: (line: string) => void,
): Transport {
  const print = (line: string): void => write(escapeControls(line));
  return {
    async send(request, options) {
      const start = clock.monotonic();
      const elapsed = (): string => `${Math.round(clock.monotonic() - start)}ms`;
      print(`> ${request.method} ${baseUrl}${withoutQueryValues(request.path)}`);
      print('> authorization: Bearer [redacted]');
      if (request.body !== undefined)
        print(`> content-type: application/json (${formatCount(Buffer.byteLength(request.body), 'byte')})`);
      try {
        const response = await transport.send(request, options);
        print(`< ${response.status} in ${elapsed()}, ${formatCount(response.body.length, 'byte')}`);
        for (const line of [...headerLines(response.headers), ...errorBodyLines(response)]) print(line);
        return response;
      } catch (error) {
        const { message, head } = error as TransportError;
        const problem = error instanceof TransportError ? message : 'failed';
        print(`< ${problem}${head ? ` (after status ${head.status})` : ''}, after ${elapsed()}`);
        throw error;
      }
    },
    close: () => transport.close(),
  };
}

const SECRET_HEADER = /auth|cookie|token|secret|key|session|password|credential|signature|csrf|nonce/;

function headerLines(headers: HttpHeaders): string[] {
  return Object.entries(headers).map(([name, value = '']) => {
    const shown = SECRET_HEADER.test(name) ? '[redacted]' : withoutQueryValues(value);
    return `< ${name}: ${shown}`;
  });
}

const MAX_BODY_CHARACTERS = 2000;

function errorBodyLines({ status, body }: HttpResponse): string[] {
  if (status < 400 || body.length === 0) return [];
  const text = new TextDecoder().decode(body.subarray(0, 4 * MAX_BODY_CHARACTERS)).trim();
  const shown = text.length > MAX_BODY_CHARACTERS ? `${text.slice(0, MAX_BODY_CHARACTERS)}…` : text;
  return shown.split('\n').map((line) => `< ${line}`);
}

function withoutQueryValues(text: string): string {
  return text.replace(/([?&][^=&\s]*=)[^&\s]*/g, '$1[redacted]');
}
