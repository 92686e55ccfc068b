// Numbers and counts as people read them: "1 row", "2,000 rows".

/** @returns the number with a thousands separator */
export function formatNumber(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** @returns for example `1 row`, `2,000 rows` */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}
