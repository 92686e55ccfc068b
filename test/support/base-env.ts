// The environment of the processes that tests and benchmarks start.

/** What every process of a test needs of the environment: programs, and the clock of a run under `faketime`. */
export const BASE_ENV: Readonly<Record<string, string> & { PATH: string }> = {
  PATH: '',
  ...Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value = '']) =>
      /^(?:PATH|LD_PRELOAD|\w*FAKETIME\w*)$/.test(name) ? [[name, value]] : [],
    ),
  ),
};
