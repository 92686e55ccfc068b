// The program's version, inserted by the build from package.json.
declare const __VERSION__: string | undefined;

/** `0.0.0` when the source runs unbuilt. */
export const VERSION: string = typeof __VERSION__ === 'string' ? __VERSION__ : '0.0.0';
