// Redaction in the document of an import.
import { expect, test } from 'vitest';
import { withoutKeys } from '../../src/api/calls.ts';
import { Redactor } from '../../src/text/redact.ts';

test('the document of an import contains no API key that a message of the service repeats', () => {
  const redactor = new Redactor();
  redactor.add('sandbox_0123456789abcdef');
  const text = 'failed for sandbox_0123456789abcdef';
  const failed = [{ row: 1, name: 'dog', code: text, message: text, status: 400 }];
  const unknown = [{ row: 2, name: 'cat', reason: text }];
  const document = withoutKeys({ created: [], skipped: [], pending: 0, failed, unknown }, redactor);
  const clean = 'failed for [redacted]';
  expect(document.failed).toEqual([{ row: 1, name: 'dog', code: clean, message: clean, status: 400 }]);
  expect(document.unknown).toEqual([{ row: 2, name: 'cat', reason: clean }]);
});
