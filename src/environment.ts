// Environment variables, in types without Node's own: the client's declarations are shipped.

/** Names and values; on Windows, where names are case-insensitive, all names are in upper case. */
export function toEnvironment(env: Environment, platform: string): Environment {
  const entries = Object.entries(env);
  return Object.fromEntries(
    platform === 'win32' ? entries.map(([name, value]) => [name.toUpperCase(), value]) : entries,
  );
}

export type Environment = Readonly<Record<string, string | undefined>>;
