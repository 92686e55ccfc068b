// Opens library clients for tests, and captures their errors.
import { expect, onTestFinished } from 'vitest';
import type { Client, ClientOptions } from '../../src/client.ts';
import { createClient, PetstoreError } from '../../src/client.ts';

/** Opens a client that is closed at the end of the test. */
export function openClient(options: ClientOptions): Client {
  const client = createClient(options);
  onTestFinished(client.close);
  return client;
}

/** The error with which a call rejects. */
export async function errorOf(call: Promise<unknown>): Promise<PetstoreError> {
  const error = await call.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(PetstoreError);
  return error as PetstoreError;
}
