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

/**
 * The service's operations; each throws PetstoreError.
 * @internal
 */
export interface Api {
  readonly categories: {
    /** `GET /categories`: every category, in the service's order. */
    list(): Promise<readonly Category[]>;
    /** `list` with `Cache-Control: no-cache`; `fromCache` is true if a cache responded anyway (`Age`). */
    listFresh(): Promise<{ readonly listed: readonly Category[]; readonly fromCache: boolean }>;
    /**
     * `POST /categories`: the category as created.
     * @param beforeSend called just before the first byte is sent; may throw to prevent sending
     */
    create(input: NewCategory, beforeSend?: () => void): Promise<Category>;
  };
}
