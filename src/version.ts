// The program's version, as package.json says it; the build puts it in.
declare const __VERSION__: string | undefined;

/** For example `1.0.0`; `0.0.0` where the source runs without having been built. */
export const VERSION: string = typeof __VERSION__ === 'string' ? __VERSION__ : '0.0.0';
