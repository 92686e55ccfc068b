// Users with a list of tasks, who follow every printed hint literally.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ImportDocument } from '../../src/import/results.ts';
import { root } from './disks.ts';
import type { Expectations } from './expectations.ts';
import type { Ended } from './invariants.ts';
import { durationIn } from './invariants.ts';
import type { Machine, Scheduler } from './scheduler.ts';
import type { Service } from './service.ts';

type Format = 'csv' | 'json' | 'ndjson';

export type Task =
  | { readonly kind: 'list' | 'quota' | 'login' }
  | { readonly kind: 'create'; readonly name: string; readonly ifMissing: boolean }
  | { readonly kind: 'import'; readonly names: readonly string[]; readonly format: Format };

export interface UserPlan {
  readonly name: string;
  readonly machine: number;
  /** The container on that machine. */
  readonly container: number;
  readonly startsAt: number;
  /** Whether the user imports files and answers the prompt before each import, instead of piping the rows. */
  readonly atTerminal: boolean;
  /** Options of every command of this user. */
  readonly options: readonly string[];
  readonly tasks: readonly Task[];
}

interface Surroundings {
  readonly scheduler: Scheduler;
  readonly service: Service;
  readonly machine: Machine;
  readonly run: (args: readonly string[], stdin: string) => Promise<Ended>;
  readonly expectations: Expectations;
  /** Makes later commands use the saved key. */
  readonly loggedIn: () => void;
  readonly violate: (what: string) => void;
  /** Resolves when the state server can be used. */
  readonly serverIsBack: () => Promise<void>;
}

/** More runs than any fault affects; after them the user gives up. */
const TRIES = 60;
const MOST_WAITS = 200;

export class User {
  readonly #plan: UserPlan;
  readonly #world: Surroundings;
  /** Whether an import reported that the service changes names. */
  #knowsSpelling = false;

  constructor(plan: UserPlan, world: Surroundings) {
    this.#plan = plan;
    this.#world = world;
  }

  async live(): Promise<void> {
    const { scheduler } = this.#world;
    await scheduler.sleep(this.#plan.startsAt);
    for (const task of this.#plan.tasks) {
      if (task.kind === 'import') await this.#import(task.names, task.format);
      else if (task.kind === 'create') await this.#create(task.name, task.ifMissing);
      else if (task.kind === 'login') await this.#logIn();
      else await this.#until(task.kind === 'list' ? ['categories', 'list'] : ['quota']);
      await scheduler.sleep(scheduler.between(50, 5000));
    }
  }

  // Repeats a read-only command until it succeeds.
  async #until(args: readonly string[]): Promise<Ended | undefined> {
    for (let tries = 0; tries < TRIES; tries++) {
      const ended = await this.#world.run([...args, ...this.#plan.options], '');
      if (ended.code === 0) return ended;
      await this.#pause(ended);
    }
    return undefined;
  }

  async #logIn(): Promise<void> {
    const { service, run, loggedIn } = this.#world;
    for (let tries = 0; tries < TRIES; tries++) {
      const ended = await run(['auth', 'login', ...this.#plan.options], `${service.validKey}\n`);
      if (ended.code === 0) return loggedIn();
      await this.#pause(ended, false);
    }
  }

  async #create(name: string, ifMissing: boolean): Promise<void> {
    const { run, expectations, violate } = this.#world;
    const { options } = this.#plan;
    const args = ['categories', 'create', '--name', name, ...(ifMissing ? ['--if-missing'] : []), ...options];
    if (ifMissing) expectations.addFile([name]);
    else expectations.addCreate(name);
    for (let tries = 0; tries < TRIES; tries++) {
      const before = expectations.count(name);
      const ended = await run(args, '');
      if (ended.code === 0) return this.#mustExist([name]);
      if (ended.code === 4) {
        if (expectations.count(name) > before) violate(`"${name}" is reported as rejected and exists`);
        return;
      }
      await this.#pause(ended);
      // After a kill, an interruption or an unknown outcome, check the list first, as the hint says.
      if (ended.code !== undefined && ended.code !== 8 && ended.code !== 130) continue;
      expectations.excuse([name]);
      const listed = await this.#until(['categories', 'list', '--json']);
      if (listed && (JSON.parse(listed.out) as { name: string }[]).some((one) => one.name === name)) return;
    }
  }

  async #import(names: readonly string[], format: Format): Promise<void> {
    const { run, expectations, violate, machine, service } = this.#world;
    const { atTerminal, options } = this.#plan;
    const path = `${root}/${machine.name}/rows-${this.#plan.name}.${format}`;
    let rows = names;
    if (this.#knowsSpelling)
      rows = rows.map((name) => service.stored.findLast(({ sent }) => sent === name)?.name ?? name);
    let args: readonly string[] = ['categories', 'import', atTerminal ? path : '-', ...options];
    for (let tries = 0, waits = 0; tries < TRIES && rows.length > 0; tries++) {
      expectations.addFile(rows);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, fileText(rows, format));
      const ended = await run(args, fileText(rows, format));
      if (ended.code !== undefined && args.includes('--json')) this.#checkDocument(ended, rows);
      if (ended.code === 0) {
        for (const name of [...expectations.tooOften(), ...expectations.shownTooOften(ended.listed, ended.sentNames)])
          violate(`${name}, and the import ended with exit code 0`);
        return this.#mustExist(rows);
      }
      // A short --max-wait needs many runs.
      if (ended.err.includes('rate limited') && waits++ < MOST_WAITS) tries--;
      this.#knowsSpelling ||= ended.err.includes('spelling');
      if (this.#knowsSpelling) rows = this.#spelled(rows);
      // An uncertain row has no spelling of the service yet: another import of it is not promised (docs/import.md).
      if (ended.code === 8 || (!this.#knowsSpelling && ended.code !== 4)) expectations.endedEarly();
      if (ended.out.includes('E400')) rows = rows.filter((name) => !name.includes('!'));
      if (ended.err.includes('several categories named')) {
        // No simulated request is delayed longer than the waits of an import (docs/import.md).
        for (const name of expectations.tooOften()) violate(`${name}, and the import reports it`);
        // The user compares the list with the file and accepts the duplicates.
        expectations.excuse(rows.filter((name) => ended.err.includes(name)));
      }
      // The hint may name the command that creates the missing rows.
      args = /the same rows \| petstore ([^\n"`\\]+)/.exec(ended.err)?.[1]?.trim().split(' ') ?? args;
      // "or allow a longer wait with --max-wait"
      const at = args.indexOf('--max-wait');
      const isTired = waits > MOST_WAITS / 2;
      if (at >= 0 && (isTired || tries > TRIES / 2)) args = [...args.slice(0, at), ...args.slice(at + 2)];
      if (isTired) args = [...args, '--max-wait', '48h'];
      await this.#pause(ended);
    }
    if (rows.length > 0) violate(`an import is not done after ${TRIES} runs`);
  }

  // Follows the hint to use the service's spelling in the file.
  #spelled(rows: readonly string[]): string[] {
    const { stored } = this.#world.service;
    return rows.map((name) => stored.find(({ sent }) => sent === name)?.name ?? name);
  }

  #mustExist(names: readonly string[]): void {
    for (const name of this.#world.expectations.missing(names))
      this.#world.violate(`"${name}" does not exist, and the exit code was 0`);
  }

  // Checks that every reported category exists, and that every row is reported.
  #checkDocument({ out, err, code }: Ended, rows: readonly string[]): void {
    if (out === '') return;
    const { service, expectations, violate } = this.#world;
    const { created, skipped, failed, unknown, pending } = JSON.parse(out) as ImportDocument;
    const ids = new Set(service.stored.map(({ id }) => String(id)));
    for (const [, id = ''] of out.matchAll(/"id":(\d+)/g))
      if (!ids.has(id)) violate(`category ${id} is reported and does not exist`);
    for (const { name } of failed) {
      // Another user may have created a row of the shared file meanwhile.
      const isOwn = !name.startsWith('both ') && !expectations.isExcused(name);
      if (isOwn && expectations.count(name) > 0) violate(`"${name}" is reported as rejected and exists`);
    }
    const sum = created.length + skipped.length + failed.length + unknown.length + pending;
    if (sum !== rows.length) violate(`${sum} of ${rows.length} rows are reported`);
    const absent = expectations.missing(rows).length;
    const isOwnFile = !rows.some((name) => name.startsWith('both ') || expectations.isExcused(name));
    if (isOwnFile && pending > absent) violate('a row is reported as pending and exists');
    // Whatever ended it: docs/cli.md lets only a key, the lock, Ctrl-C and a redirect come first.
    const isOther = [3, 8, 9, 130, 143].includes(code ?? 8) || /303|changed the name|just created/.test(err);
    if (unknown.length > 0 && !isOther) violate(`a row is unknown, and the exit code is ${code}`);
    const own = [...out.slice(0, out.indexOf('"skipped"')).matchAll(/"id":(\d+)/g)].map(([, id]) => id);
    if (new Set(own).size !== own.length) violate('two rows are reported as one category');
  }

  // Logs in again if the key was rejected, and waits for as long as the hint says.
  async #pause({ code, err }: Ended, mayLogIn = true): Promise<void> {
    const { scheduler, serverIsBack } = this.#world;
    if (code === 3 && mayLogIn) await this.#logIn();
    if (err.includes('when the state server is available')) await serverIsBack();
    const stated = code === 5 ? durationIn(err) : undefined;
    // After a crash, the user repeats the command soon.
    const longest = code === undefined ? 2000 : 8000;
    await scheduler.sleep(stated === undefined ? scheduler.between(100, longest) : stated + scheduler.between(1, 1000));
  }
}

function fileText(rows: readonly string[], format: Format): string {
  if (format === 'json') return JSON.stringify(rows.map((name) => ({ name })));
  if (format === 'ndjson') return rows.map((name) => JSON.stringify({ name })).join('\n');
  return `name\n${rows.map((name) => `"${name.replaceAll('"', '""')}"`).join('\n')}\n`;
}
