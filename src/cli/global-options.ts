// The global options: commander reads them as text, which is checked here before a command runs.
import type { Argument, Command } from 'commander';
import { Option } from 'commander';
import { MAX_TIMER_MS } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import { checkWholeNumber, invalidValueError } from '../settings/check-options.ts';
import { formatChoices, parseDuration } from '../text/format.ts';
import type { Environment } from './context.ts';
import { FORMATS, GLOBAL_OPTIONS } from './reference.ts';

/** The options as typed, under commander's names; any text may be invalid. */
export interface TypedOptions extends Pick<GlobalOptions, 'profile' | 'quiet' | 'verbose' | 'color'> {
  readonly json?: boolean;
  readonly format?: string;
  readonly maxWait?: string;
  readonly maxRetries?: string;
  readonly timeout?: string;
  readonly version?: boolean;
}

/** The checked options; durations are in milliseconds. */
export interface GlobalOptions {
  /** The value of `--profile` only; PETSTORE_PROFILE is read with the profiles, so that errors can name it. */
  readonly profile?: string | undefined;
  readonly json: boolean;
  readonly format: (typeof FORMATS)[number];
  readonly maxWait: number;
  readonly maxRetries: number;
  readonly timeout: number;
  readonly quiet?: boolean | undefined;
  readonly verbose?: boolean | undefined;
  readonly color: boolean;
}

/** Adds choices but accepts any text, so that a later --json determines the format of an error. */
export function withChoices<Value extends Option | Argument>(value: Value, choices: readonly string[]): Value {
  value.choices(choices).argParser(String);
  return value;
}

export function formatOption(): Option {
  return withChoices(new Option('--format <format>', 'output format'), FORMATS);
}

const OPTIONS: readonly Option[] = [
  ...GLOBAL_OPTIONS.map(({ flags, description, fallback }) =>
    new Option(flags, description).default(undefined, fallback).helpGroup('Global options:'),
  ),
  // Listed only in the help of a command with several formats.
  formatOption().hideHelp(),
];

/** Adds the options to a command, which sets their values at the root: they may stand before or after its name. */
export function addGlobalOptions(command: Command, root: Command): void {
  for (const option of OPTIONS) {
    if (!command.options.some(({ long }) => long === option.long)) command.addOption(option);
    command.on(`option:${option.name()}`, (text?: string) => {
      root.setOptionValue(option.attributeName(), text ?? !option.negate);
    });
  }
}

/** Whether errors, help and version are printed as JSON. */
export function wantsJson({ json, format }: TypedOptions): boolean {
  return json === true || format === 'json';
}

/** @throws PetstoreError `usage` that names the option, or the variable that sets it */
export function checkGlobalOptions(typed: TypedOptions, env: Environment): GlobalOptions {
  const { profile, json, quiet, verbose, color } = typed;
  const format = FORMATS.find((one) => one === (typed.format ?? (json ? 'json' : 'table')));
  if (!format) throw invalidValueError(typed.format, '--format', `use ${formatChoices(FORMATS)}`);
  if (json && format !== 'json') {
    throw new PetstoreError('usage', `--json and --format ${format} cannot be combined`, { hint: 'use one of them' });
  }
  const read = <T>(flag: string, text: string | undefined, parse: (text: string, from: string) => T): T => {
    if (text !== undefined) return parse(text, flag);
    const { variable = '', fallback = '' } = GLOBAL_OPTIONS.find(({ flags }) => flags.startsWith(flag)) ?? {};
    return env[variable] ? parse(env[variable], variable) : parse(fallback, flag);
  };
  return {
    profile,
    json: format === 'json',
    format,
    maxWait: read('--max-wait', typed.maxWait, (text, from) => duration(text, from, 0)),
    maxRetries: read('--max-retries', typed.maxRetries, (text, from) => checkWholeNumber(text, from, 0, 999)),
    // With a timeout of 0, the outcome of a create would always be unknown.
    timeout: read('--timeout', typed.timeout, (text, from) => duration(text, from, 1)),
    // Commander's own `env` treats `0` as a set switch.
    quiet: quiet ?? !/^(?:|0|false)$/.test(env['PETSTORE_QUIET'] ?? ''),
    verbose,
    color,
  };
}

function duration(text: string, from: string, least: number): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw invalidValueError(text, from, 'use a duration such as 500ms, 30s or 1m30s', 'duration');
  if (ms >= least) return Math.min(ms, MAX_TIMER_MS);
  throw new PetstoreError('usage', `${from} must be greater than 0`, { hint: 'use a value such as 30s' });
}
