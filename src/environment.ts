// What the environment is, for those whose types must name nothing of Node: the client's are shipped.

/** The environment: names to values. */
export type Environment = Readonly<Record<string, string | undefined>>;
