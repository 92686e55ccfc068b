// Reads the body of an error response as far as possible: the service's Error object, problem+json, or an HTML page.
import { parseJson } from '../json.ts';

export interface ServiceError {
  readonly code: string | undefined;
  readonly message: string | undefined;
}

const MAX_CHARACTERS = 500;

/** Never throws; the message is shortened to 500 characters. */
export function decodeServiceError(body: Uint8Array): ServiceError {
  const text = new TextDecoder().decode(body);
  // A page of a proxy or load balancer.
  const title = /^\s*<[\s\S]*?<title[^>]*>([^<]*)/i.exec(text.slice(0, 10_000))?.[1];
  if (title !== undefined) return { code: undefined, message: shortText(title.replace(/\s+/g, ' ').trim()) };
  // RFC 9457 calls the message `detail`, or `title` if there is no more to say.
  const { code, message, detail, title: summary } = parseObject(text);
  return { code: shortText(code), message: shortText(message) ?? shortText(detail) ?? shortText(summary) };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value = parseJson(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function shortText(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  return value.length > MAX_CHARACTERS ? `${value.slice(0, MAX_CHARACTERS)}…` : value;
}
