// The service's resources in its own words (docs/service.md, resources).

/** A category as the service returns it; fields it adds later are kept. */
export interface Category {
  /** Assigned by the service; an int64, so a bigint beyond 2^53. */
  readonly id: number | bigint;
  readonly name: string;
  readonly description?: string;
  readonly [extra: string]: unknown;
}

/** What a client sends to create a category; never an id. */
export interface NewCategory {
  readonly name: string;
  readonly description?: string | undefined;
}

/**
 * The service's operations. Every one throws PetstoreError.
 * @internal
 */
export interface Api {
  readonly categories: {
    /** `GET /categories`: every category, in the service's order. */
    list(): Promise<readonly Category[]>;
    /** The same past all caches, and whether it came from one all the same (`Age`). */
    listFresh(): Promise<{ readonly listed: readonly Category[]; readonly fromCache: boolean }>;
    /**
     * `POST /categories`: the category as created.
     * @param beforeSend called just before the first byte is sent; throws to prevent it
     */
    create(input: NewCategory, beforeSend?: () => void): Promise<Category>;
  };
}
