// Durations as people type and read them: 500ms, 30s, 2m, 1h.

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Reads `500ms`, `30s`, `1.5m`, `1h`, or a number of seconds (docs/cli.md, global options).
 * @returns whole milliseconds; undefined for anything else
 */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,12}(?:\.\d{1,9})?)(ms|s|m|h|d)?$/.exec(text.trim());
  if (!match) return undefined;
  const ms = Math.round(Number(match[1]) * (UNITS[match[2] ?? 's'] ?? 1000));
  return Number.isSafeInteger(ms) ? ms : undefined;
}

/** The two largest units, rounded up: `43s`, `2m 5s`, `1d 3h`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return pair(minutes, 'm', seconds % 60, 's');
  const wholeMinutes = Math.ceil(seconds / 60);
  const hours = Math.floor(wholeMinutes / 60);
  if (hours < 24) return pair(hours, 'h', wholeMinutes % 60, 'm');
  const wholeHours = Math.ceil(wholeMinutes / 60);
  return pair(Math.floor(wholeHours / 24), 'd', wholeHours % 24, 'h');
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit} ${small}${smallUnit}`;
}
