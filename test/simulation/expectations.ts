// The number of categories that each name may have, which depends on the users' actions and petstore's reports.
import type { Service } from './service.ts';

export class Expectations {
  readonly #service: Service;
  readonly #names = new Set<string>();
  /** The number of categories with each name before the first command. */
  readonly #before: ReadonlyMap<string, number>;
  readonly #creates = new Map<string, number>();
  readonly #excused = new Set<string>();

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

  /** Allows any number of categories with these names: the outcome of a create is unknown, or the lock was lost. */
  excuse(names: Iterable<string>): void {
    for (const name of names) this.#excused.add(name);
  }

  isExcused(name: string): boolean {
    return this.#excused.has(name);
  }

  tooOften(): string[] {
    return [...counted(this.#service.stored.map(({ name }) => name))]
      .filter(([name, count]) => count > this.#allowed(name))
      .map(([name, count]) => `"${name}" exists ${count} times`);
  }

  /** Whether no category with this name is missing; false for an excused name. */
  isComplete(name: string): boolean {
    return this.#service.stored.filter((one) => one.name === name).length >= this.#allowed(name);
  }

  /** The names without a category. */
  missing(names: readonly string[]): string[] {
    const there = new Set(this.#service.stored.map(({ name }) => name));
    return [...new Set(names)].filter((name) => !there.has(name));
  }

  #allowed(name: string): number {
    if (this.#excused.has(name)) return Number.POSITIVE_INFINITY;
    return Math.max(this.#names.has(name) ? 1 : 0, this.#before.get(name) ?? 0) + (this.#creates.get(name) ?? 0);
  }
}

function counted(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, 1 + (counts.get(name) ?? 0));
  return counts;
}
