/** The URLs of this process's sandboxes in memory, so that their clients keep the rate limit in memory, too. */
export const inMemoryUrls = new Set<string>();
