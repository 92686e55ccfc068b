// The number of categories that each name may have, from what users did and what petstore reported.
import type { Service, Stored } from './service.ts';

export class Expectations {
  readonly #service: Service;
  readonly #rows = new Map<string, number>();
  readonly #creates = new Map<string, number>();
  readonly #excused = new Set<string>();
  #hasEndedEarly = false;

  constructor(service: Service) {
    this.#service = service;
  }

  /** Expects the rows of a file; for each name, the file with the most rows counts. */
  addFile(names: readonly string[]): void {
    for (const [name, count] of counted(names)) this.#rows.set(name, Math.max(count, this.#rows.get(name) ?? 0));
  }

  addCreate(name: string): void {
    this.#creates.set(name, 1 + (this.#creates.get(name) ?? 0));
  }

  /** Allows any number of these names: the program reported an unknown outcome, or was killed. */
  excuse(names: Iterable<string>): void {
    for (const name of names) this.#excused.add(name);
  }

  /** Allows any number of names that the service alters: a row whose import ended early is recognized by its own name only. */
  endedEarly(): void {
    this.#hasEndedEarly = true;
  }

  /** The number of rows of a file, or of creates, with this name. */
  rows(name: string): number {
    return (this.#rows.get(name) ?? 0) + (this.#creates.get(name) ?? 0);
  }

  /** The number of categories that were sent with this name. */
  count(name: string): number {
    return this.#service.stored.filter(({ sent }) => sent === name).length;
  }

  tooOften(): string[] {
    return [...counted(this.#service.stored.map(({ sent }) => sent))]
      .filter(([name, count]) => count > this.#allowed(name))
      .map(([name, count]) => `"${name}" exists ${count} times`);
  }

  /** Whether no category of this name is missing. */
  isComplete(name: string): boolean {
    return this.count(name) >= this.#allowed(name);
  }

  /** Names of which a list showed more categories than the file has rows, though a request was on its way for too long. */
  shownTooOften(listed: ReadonlySet<object>, sentNames: ReadonlySet<string>): string[] {
    const shown = this.#service.stored.filter((one) => listed.has(one)).map(({ sent }) => sent);
    return [...counted(shown)]
      .filter(([name, count]) => this.#service.late.has(name) && sentNames.has(name) && count > this.rows(name))
      .map(([name, count]) => `"${name}" was listed ${count} times`);
  }

  isExcused(name: string): boolean {
    return this.#allowed(name) === Number.POSITIVE_INFINITY;
  }

  #allowed(name: string): number {
    const isAltered = this.#hasEndedEarly && this.#service.nameOf(name) !== name;
    const isExcused = this.#service.late.has(name) || this.#excused.has(name) || isAltered;
    return isExcused ? Number.POSITIVE_INFINITY : this.rows(name);
  }

  /** The names without a category, and for how many rows. A category counts for one row of its name or of the name that was sent. */
  missing(names: readonly string[]): Map<string, number> {
    const left: Set<Stored | undefined> = new Set(this.#service.stored);
    const lacks = (name: string, by: 'name' | 'sent'): boolean =>
      !left.delete([...left].find((one) => one?.[by] === name));
    return counted(names.filter((name) => lacks(name, 'name')).filter((name) => lacks(name, 'sent')));
  }
}

function counted(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, 1 + (counts.get(name) ?? 0));
  return counts;
}
