// Random mutations of valid documents for fuzz tests.
import fc from 'fast-check';

const TOKENS = [
  ...'{ } [ ] " , : ; \' \\ null true -0 1e400 1.5 9223372036854775808 9007199254740993'.split(' '),
  ...'"id" "name" "__proto__" "constructor" "created" 9 -1 1e999 "" \\ud800 \\u0000 <html> =1+1'.split(' '),
  ...['\n', '\r', '\t', '\0', '\u001b[2J', '\u009b', '\u202e', '\ufeff', ''],
].map((token) => Buffer.from(token));

/** A change at a position (modulo the length): the number of bytes to remove, and bytes to insert `times` times. */
const change = fc.record({
  at: fc.nat(0xffff),
  cut: fc.oneof({ weight: 4, arbitrary: fc.nat(8) }, { weight: 1, arbitrary: fc.nat(400) }),
  put: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...TOKENS) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)) },
  ),
  times: fc.oneof({ weight: 8, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.nat(300) }),
});

/** @returns one of the documents at random, with one to four random changes */
export function mutated(seeds: readonly string[]): fc.Arbitrary<Buffer> {
  return fc
    .tuple(fc.constantFrom(...seeds), fc.array(change, { minLength: 1, maxLength: 4 }))
    .map(([seed, changes]) => {
      let bytes = Buffer.from(seed);
      for (const { at, cut, put, times } of changes) {
        const from = at % (bytes.length + 1);
        bytes = Buffer.concat([bytes.subarray(0, from), ...Array<Buffer>(times).fill(put), bytes.subarray(from + cut)]);
      }
      return bytes;
    });
}
