// The service's Error object (service.md, section 2), read as far as it goes.
import { isOpaqueNumber, parseJson } from '../json.ts';

/** The service's Error object as far as it was readable. */
export interface ServiceError {
  readonly code: string | undefined;
  readonly message: string | undefined;
}

const LONGEST_MESSAGE = 500;

/**
 * Reads an Error body (service.md, section 2) as far as it goes; one that is not there is no further error.
 * @param body the body of a reply that says failure
 * @returns code and message, where they are text; the message at most 500 characters
 */
export function decodeServiceError(body: Uint8Array): ServiceError {
  let value: unknown;
  try {
    value = parseJson(new TextDecoder('utf-8').decode(body));
  } catch {
    return { code: undefined, message: undefined };
  }
  if (typeof value !== 'object' || value === null || isOpaqueNumber(value)) {
    return { code: undefined, message: undefined };
  }
  const { code, message } = value as { readonly code?: unknown; readonly message?: unknown };
  return { code: shortText(code), message: shortText(message) };
}

function shortText(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  return value.length > LONGEST_MESSAGE ? `${value.slice(0, LONGEST_MESSAGE)}…` : value;
}
