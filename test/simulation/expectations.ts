// The number of categories that each name may have, from what users did and what petstore reported.
import type { Service } from './service.ts';

export class Expectations {
  readonly #service: Service;
  readonly #names = new Set<string>();
  /** How often each name existed before the first command. */
  readonly #before: ReadonlyMap<string, number>;
  readonly #creates = new Map<string, number>();
  readonly #excused = new Set<string>();
  #hasEndedEarly = false;

  constructor(service: Service, before: readonly string[]) {
    this.#service = service;
    this.#before = counted(before);
  }

  /** Expects one category for each name of a file, however many rows and files have it. */
  addFile(names: readonly string[]): void {
    for (const name of names) this.#names.add(name);
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

  /** The number of categories with this name that files and creates ask for, or that existed before. */
  wanted(name: string): number {
    return Math.max(this.#names.has(name) ? 1 : 0, this.#before.get(name) ?? 0) + (this.#creates.get(name) ?? 0);
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

  /** Names of which a list showed more categories than users want, though a request was on its way for too long. */
  shownTooOften(listed: ReadonlySet<object>, sentNames: ReadonlySet<string>): string[] {
    const shown = this.#service.stored.filter((one) => listed.has(one)).map(({ sent }) => sent);
    return [...counted(shown)]
      .filter(([name, count]) => this.#service.late.has(name) && sentNames.has(name) && count > this.wanted(name))
      .map(([name, count]) => `"${name}" was listed ${count} times`);
  }

  isExcused(name: string): boolean {
    return this.#allowed(name) === Number.POSITIVE_INFINITY;
  }

  #allowed(name: string): number {
    const isAltered = this.#hasEndedEarly && this.#service.nameOf(name) !== name;
    const isExcused = this.#service.late.has(name) || this.#excused.has(name) || isAltered;
    return isExcused ? Number.POSITIVE_INFINITY : this.wanted(name);
  }

  /** The names without a category. A category counts for its name and for the name that was sent. */
  missing(names: readonly string[]): string[] {
    const there = new Set(this.#service.stored.flatMap(({ name, sent }) => [name, sent]));
    return [...new Set(names)].filter((name) => !there.has(name));
  }
}

function counted(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, 1 + (counts.get(name) ?? 0));
  return counts;
}
