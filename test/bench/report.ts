// What the benchmarks share: printing, required results and medians.

/** Prints one line. */
export const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Ends the benchmark where a requirement is not met. */
export function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(`not met: ${what}`);
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
