// Programs that some tests need and a machine may lack. A test names one as its tag. If the program is not installed, the
// test is skipped; if CI is set, the run fails instead, except on Windows.
import { spawnSync } from 'node:child_process';

/** Names under which the program of each tag may be installed, and its packages for apt-get and Homebrew. */
const PROGRAMS = {
  redis: { names: ['redis-server', 'valkey-server'], apt: 'redis-server', brew: 'redis' },
  zsh: { names: ['zsh'], apt: 'zsh', brew: 'zsh' },
  fish: { names: ['fish'], apt: 'fish', brew: 'fish' },
  jq: { names: ['jq'], apt: 'jq', brew: 'jq' },
} as const;

export type ProgramTag = keyof typeof PROGRAMS;

// Without LD_PRELOAD: under libfaketime, the allocator of Redis hangs.
export const PROGRAM_ENV = { PATH: process.env['PATH'] };

/** The installed programs of a tag. */
export function installed(tag: ProgramTag): string[] {
  return PROGRAMS[tag].names.filter((name) => !spawnSync(name, ['--version'], { env: PROGRAM_ENV }).error);
}

/** The tags for Vitest, which skips the tests of a program that is not installed. */
export const PROGRAM_TAGS = (Object.keys(PROGRAMS) as ProgramTag[]).map((name) => {
  return { name, skip: installed(name).length === 0 };
});

/** The tags of programs that are not installed. */
export const MISSING: readonly string[] = PROGRAM_TAGS.filter((tag) => tag.skip).map((tag) => tag.name);

/** The missing programs, for example "zsh and jq (sudo apt-get install zsh jq)". */
export function missingPrograms(): string {
  const programs = Object.entries(PROGRAMS).flatMap(([tag, program]) => (MISSING.includes(tag) ? [program] : []));
  const names = new Intl.ListFormat('en').format(programs.map(({ names }) => names.join(' or ')));
  const isMac = process.platform === 'darwin';
  const packages = programs.map(({ apt, brew }) => (isMac ? brew : apt)).join(' ');
  return `${names} (${isMac ? 'brew' : 'sudo apt-get'} install ${packages})`;
}
