// Types for the functions of cli-table3 that are replaced: its measure of text, and what pads and cuts by it.
declare module 'cli-table3/src/utils.js' {
  const utils: {
    strlen(text: string): number;
    pad(text: string, width: number, character: string, align?: string): string;
    truncate(text: string, width: number, mark?: string): string;
  };
  export = utils;
}
