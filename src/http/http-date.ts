// HTTP dates, read by their grammar: Date.parse accepts far too much.

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const IMF = /^[A-Za-z]{3}, (\d{2}) ([A-Za-z]{3}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/;
const RFC_850 = /^[A-Za-z]{6,9}, (\d{2})-([A-Za-z]{3})-(\d{2}) (\d{2}):(\d{2}):(\d{2}) GMT$/;
const ASCTIME = /^[A-Za-z]{3} ([A-Za-z]{3}) ([ \d]\d) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/;

/**
 * Reads an HTTP date in its three forms (RFC 9110, 5.6.7); undefined for anything else, and for a day that does not exist.
 * @param near epoch milliseconds; a two-digit year is taken to be at most 50 years later
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
  return instant(String(year > thisYear + 50 ? year - 100 : year), old[2], old[1], old[4], old[5], old[6]);
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
