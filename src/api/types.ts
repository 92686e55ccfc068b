// The service's resources (docs/service.md).

/** A category as the service returns it, unknown fields included. */
export interface Category {
  /** Assigned by the service; an int64, so a bigint above 2^53. */
  readonly id: number | bigint;
  readonly name: string;
  readonly description?: string;
  readonly [extra: string]: unknown;
}

/** The values of a new category; the service assigns its id. */
export interface NewCategory {
  readonly name: string;
  readonly description?: string | undefined;
}
