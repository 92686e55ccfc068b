// Dates and durations as headers write them: strict grammars first, arithmetic second, never Date.parse on raw text.

/** How far in the past a time may lie and still be taken for "now": rounding and travel. */
export const HTTP_DATE_SLACK_MS = 5000;

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const IMF = /^[A-Za-z]{3}, (\d{2}) ([A-Za-z]{3}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/;
const RFC_850 = /^[A-Za-z]{6,9}, (\d{2})-([A-Za-z]{3})-(\d{2}) (\d{2}):(\d{2}):(\d{2}) GMT$/;
const ASCTIME = /^[A-Za-z]{3} ([A-Za-z]{3}) ([ \d]\d) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/;
const ISO = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):?(\d{2}))$/;
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Reads an HTTP-date in its three forms (RFC 9110, 5.6.7); a day that does not exist is refused.
 * @param text the header, trimmed
 * @param near epoch milliseconds that a two-digit year is taken nearest below 50 years from; undefined: this century
 * @returns epoch milliseconds, or undefined
 */
export function httpDate(text: string, near: number | undefined): number | undefined {
  const imf = IMF.exec(text);
  if (imf) return instant(imf[3], imf[2], imf[1], imf[4], imf[5], imf[6]);
  const asc = ASCTIME.exec(text);
  if (asc) return instant(asc[6], asc[1], asc[2], asc[3], asc[4], asc[5]);
  const old = RFC_850.exec(text);
  if (!old) return undefined;
  const thisYear = new Date(near ?? Date.UTC(2026)).getUTCFullYear();
  const century = thisYear - (thisYear % 100);
  const year = century + Number(old[3]);
  // RFC 9110, 5.6.7: more than 50 years ahead means the century before.
  return instant(String(year > thisYear + 50 ? year - 100 : year), old[2], old[1], old[4], old[5], old[6]);
}

/**
 * Reads a date of ISO 8601 with seconds and a zone.
 * @param text the header, trimmed
 * @returns epoch milliseconds, or undefined
 */
export function isoDate(text: string): number | undefined {
  const match = ISO.exec(text);
  if (!match) return undefined;
  const month = MONTHS[Number(match[2]) - 1];
  const base = instant(match[1], month, match[3], match[4], match[5], match[6]);
  if (base === undefined) return undefined;
  const zone = (Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0)) * 60_000 * (match[8] === '-' ? -1 : 1);
  return base - zone + Math.floor(Number(`0.${match[7] ?? '0'}`) * 1000);
}

/**
 * Reads a duration with units, such as `30s`, `1m30s` or `500ms`.
 * @param text the header, trimmed
 * @returns milliseconds, rounded up; undefined where a unit is missing
 */
export function duration(text: string): number | undefined {
  if (!/^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|s|m|h|d)\s*)+$/.test(text)) return undefined;
  let total = 0;
  for (const [, value, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    total += Number(value) * (UNITS[unit ?? ''] ?? 0);
  }
  return Math.ceil(total);
}

function instant(
  year: string | undefined,
  monthName: string | undefined,
  day: string | undefined,
  hour: string | undefined,
  minute: string | undefined,
  second: string | undefined,
): number | undefined {
  const month = MONTHS.indexOf(monthName?.toLowerCase() ?? '');
  const leap = Math.min(59, Number(second));
  const at = Date.UTC(Number(year), month, Number(day), Number(hour), Number(minute), leap);
  const back = new Date(at);
  const exists =
    month >= 0 &&
    Number(second) <= 60 &&
    back.getUTCFullYear() === Number(year) &&
    back.getUTCMonth() === month &&
    back.getUTCDate() === Number(day) &&
    back.getUTCHours() === Number(hour) &&
    back.getUTCMinutes() === Number(minute);
  return exists ? at : undefined;
}
