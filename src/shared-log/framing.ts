// How records are framed, so that a reader recognizes those that are torn or damaged.
//
// A log file consists of these lines:
//   ~                          the guard before each write: it ends a torn line and makes that line void
//   ID CHECKSUM RECORD .       a record; its writer recognizes it by the ID
//   #snapshot CHECKSUM JSON .  the state at the beginning of a segment, as an array of records: all lines before it are void
//   #seal .                    the end of a segment: all lines after it are void
import { crc32 } from 'node:zlib';

/** A line that was written completely. A checksum that does not match makes it `damaged`. */
export type Line =
  | { readonly is: 'record'; readonly id: string; readonly record: string }
  /** `size`: the length of the line, in characters. */
  | { readonly is: 'snapshot'; readonly records: readonly string[]; readonly size: number }
  | { readonly is: 'seal' }
  | { readonly is: 'damaged' };

const GUARD = '~';
// Ends every line but the guard; a line without it is torn.
const SUFFIX = ' .';
const SNAPSHOT_ID = '#snapshot';
/** A file of a log begins with one of these texts: the first write may have been torn after one byte. */
export const FILE_STARTS: readonly string[] = [`${GUARD}\n`, `${GUARD}${GUARD}`];

/** @param record a single line */
export function withChecksum(record: string): string {
  return `${crc32(record).toString(36)} ${record}`;
}

/** @returns undefined for a damaged record, or one that petstore did not write */
export function withoutChecksum(text: string): string | undefined {
  const record = text.slice(text.indexOf(' ') + 1);
  return withChecksum(record) === text ? record : undefined;
}

// All of a frame is one write, so no other process can write between the guard and the line.
const frame = (line: string): string => `${GUARD}\n${line}${SUFFIX}\n`;

export const SEAL_FRAME = frame('#seal');

/** @param id without spaces; it must not begin with `#` */
export function recordFrame(id: string, record: string): string {
  return frame(`${id} ${withChecksum(record)}`);
}

export function snapshotFrame(records: Iterable<string>): string {
  return recordFrame(SNAPSHOT_ID, JSON.stringify([...records]));
}

/** @returns undefined for a line without meaning: a guard, or a torn line */
export function parseLine(line: string): Line | undefined {
  if (!line.endsWith(SUFFIX)) return undefined;
  const text = line.slice(0, -SUFFIX.length);
  if (text === '#seal') return { is: 'seal' };
  const space = text.indexOf(' ');
  const id = text.slice(0, space);
  const record = withoutChecksum(text.slice(space + 1));
  if (record === undefined) return { is: 'damaged' };
  if (id !== SNAPSHOT_ID) return { is: 'record', id, record };
  return { is: 'snapshot', records: JSON.parse(record), size: line.length };
}
