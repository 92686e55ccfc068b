// The rules of the policy and the version in the ledger's file name.
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { LEDGER_VERSION, RULES } from '../../src/rate-limit/rules.ts';

// Two versions of the program with different rules would disagree about one ledger.
const RULES_OF_VERSION: Readonly<Record<number, string>> = { 11: 'd6b839f82e433f03' };

test("the rules change only together with the version in the ledger's file name", () => {
  const hash = createHash('sha256').update(JSON.stringify(RULES)).digest('hex').slice(0, 16);
  expect(RULES_OF_VERSION).toHaveProperty(String(LEDGER_VERSION), hash);
});
