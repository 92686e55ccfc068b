/** The kinds of error, as `--json` names them (docs/cli.md, exit codes). */
export type ErrorKind =
  | 'internal'
  | 'usage'
  | 'auth'
  | 'rejected'
  | 'rate_limited'
  | 'network'
  | 'service'
  | 'unknown_outcome'
  | 'storage'
  | 'interrupted';
