/** The URLs of this process' sandboxes in memory, so that their clients keep the rate limit in memory, too. */
export const inMemoryUrls = new Set<string>();
