// Splits a large JSON array into slices of whole elements: parsed one by one, they need little memory and time each.
import { MAX_DEPTH, MAX_VALUES } from '../json.ts';

// A create has at most 1 MiB.
const MAX_ELEMENT_BYTES = 4 * 1024 * 1024;

/**
 * Yields the bytes between the brackets and commas of the array, at least `sliceBytes` each but for the last.
 * A slice may be invalid JSON, and the array is valid only if every slice is.
 * @throws SyntaxError that never quotes the text
 */
export function* arraySlices(body: Uint8Array, sliceBytes: number): Generator<Uint8Array> {
  const end = body.length;
  let at = skipSpace(body, 0);
  if (body[at] !== 0x5b) throw new SyntaxError('not an array');
  let from = at + 1;
  let depth = 0;
  let values = 0;
  const slice = (to: number): Uint8Array => {
    if (to - from > sliceBytes + MAX_ELEMENT_BYTES) throw new SyntaxError('an element is larger than 4 MiB');
    return body.subarray(from, to);
  };
  for (; at < end; at++) {
    switch (body[at]) {
      case 0x22: // "
        for (at++; at < end && body[at] !== 0x22; at++) if (body[at] === 0x5c) at++;
        break;
      case 0x5b: // [
      case 0x7b: // {
        values++;
        if (++depth > MAX_DEPTH) throw new SyntaxError(`it is nested more than ${MAX_DEPTH} levels deep`);
        break;
      case 0x5d: // ]
      case 0x7d: // }
        if (--depth > 0) break;
        yield slice(at);
        if (skipSpace(body, at + 1) < end) throw new SyntaxError('text after the array');
        return;
      case 0x2c: // ,
        if (++values > MAX_VALUES)
          throw new SyntaxError(`it has more than ${MAX_VALUES.toLocaleString('en-US')} values`);
        if (depth > 1 || at - from < sliceBytes) break;
        yield slice(at);
        from = at + 1;
    }
  }
  throw new SyntaxError('the array does not end');
}

function skipSpace(body: Uint8Array, from: number): number {
  let at = from;
  while (body[at] === 0x20 || body[at] === 0x0a || body[at] === 0x0d || body[at] === 0x09) at++;
  return at;
}
