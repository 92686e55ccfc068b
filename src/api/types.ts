// The service's resources (docs/service.md).

/** A category as the service returns it, unknown fields included. */
export interface Category {
  /** Assigned by the service; an int64, so a bigint above 2^53. */
  readonly id: number | bigint;
  readonly name: string;
  readonly description?: string;
  readonly [extra: string]: unknown;
}

/** Refers to a category by its id. */
export type CategoryId = Pick<Category, 'id'>;

/** The values of a new category; the service assigns its id. */
export interface NewCategory {
  readonly name: string;
  readonly description?: string | undefined;
}

/** @internal Why values cannot be sent as a new category: a rule of the service, or text that UTF-8 cannot encode. */
export function newCategoryProblem(name: unknown, description: unknown): string | undefined {
  if (name === undefined) return 'name is missing';
  if (typeof name !== 'string') return 'name must be a string';
  if (/^[\s\0]*$/.test(name)) return 'name is blank';
  if (typeof (description ?? '') !== 'string') return 'description must be a string';
  if (/\p{Surrogate}/u.test(name)) return 'name contains an unpaired surrogate';
  if (/\p{Surrogate}/u.test(String(description))) return 'description contains an unpaired surrogate';
  return undefined;
}
