// Simulated users, who perform a list of tasks and follow the hints about waits, resumed imports and unknown outcomes.
import type { ImportDocument } from '../../src/public-types.ts';
import type { Expectations } from './expectations.ts';
import type { Ended } from './invariants.ts';
import { durationIn } from './invariants.ts';
import type { Scheduler } from './scheduler.ts';
import type { Service } from './service.ts';

type Format = 'csv' | 'json' | 'ndjson';

export type Task =
  | { readonly kind: 'list' }
  | { readonly kind: 'create'; readonly name: string; readonly ifMissing: boolean }
  | { readonly kind: 'import'; readonly names: readonly string[]; readonly format: Format };

export interface UserPlan {
  readonly machine: number;
  /** The number of the container on the machine. */
  readonly container: number;
  readonly startsAt: number;
  /** The options of all commands of this user. */
  readonly options: readonly string[];
  readonly tasks: readonly Task[];
}

interface Surroundings {
  readonly scheduler: Scheduler;
  readonly service: Service;
  readonly run: (args: readonly string[], stdin: string) => Promise<Ended>;
  readonly expectations: Expectations;
  readonly violate: (what: string) => void;
  /** Resolves when the state server can be used. */
  readonly serverIsBack: () => Promise<void>;
}

/** More runs than any fault or short `--max-wait` needs; after them the user gives up. */
const TRIES = 200;

/** Resolves when the user has done all tasks. */
export async function live({ startsAt, options, tasks }: UserPlan, world: Surroundings): Promise<void> {
  const { scheduler, service, run, expectations, violate, serverIsBack } = world;
  await scheduler.sleep(startsAt);
  for (const task of tasks) {
    if (task.kind === 'import') await importRows(task.names, task.format);
    else if (task.kind === 'create') await create(task.name, task.ifMissing);
    else await list();
    await scheduler.sleep(scheduler.between(50, 2000));
  }

  async function list(...more: readonly string[]): Promise<Ended | undefined> {
    for (let tries = 0; tries < TRIES; tries++) {
      const ended = await run(['categories', 'list', ...more, ...options], '');
      if (ended.code === 0) return ended;
      await pause(ended);
    }
    return undefined;
  }

  async function create(name: string, ifMissing: boolean): Promise<void> {
    const args = ['categories', 'create', '--name', name, ...(ifMissing ? ['--if-missing'] : []), ...options];
    if (ifMissing) expectations.addFile([name]);
    else expectations.addCreate(name);
    for (let tries = 0; tries < TRIES; tries++) {
      const ended = await run(args, '');
      if (ended.code === 0) return mustExist([name]);
      await pause(ended);
      // After a kill, an interruption or an unknown outcome, check the list first, as the hint says.
      if (ended.code !== undefined && ended.code !== 8 && ended.code !== 130) continue;
      expectations.excuse([name]);
      const listed = await list('--json');
      if (listed && (JSON.parse(listed.out) as { name: string }[]).some((one) => one.name === name)) return;
    }
  }

  async function importRows(rows: readonly string[], format: Format): Promise<void> {
    let args: readonly string[] = ['categories', 'import', '-', ...options];
    expectations.addFile(rows);
    for (let tries = 0; tries < TRIES; tries++) {
      const ended = await run(args, fileText(rows, format));
      if (ended.out !== '' && args.includes('--json')) checkDocument(ended, rows);
      if (ended.code === 0) {
        for (const name of expectations.tooOften()) violate(`${name}, and the import ended with exit code 0`);
        return mustExist(rows);
      }
      // The hint may name another command for the same rows.
      args = /the same rows \| petstore ([^\n"`\\]+)/.exec(ended.err)?.[1]?.trim().split(' ') ?? args;
      await pause(ended);
    }
    violate(`an import is not done after ${TRIES} runs`);
  }

  function mustExist(names: readonly string[]): void {
    for (const name of expectations.missing(names)) violate(`"${name}" does not exist, and the exit code was 0`);
  }

  // Checks that every reported category exists, and that every row is reported.
  function checkDocument({ out }: Ended, rows: readonly string[]): void {
    const { created, skipped, failed, unknown, pending } = JSON.parse(out) as ImportDocument;
    for (const [, id] of out.matchAll(/"id":(\d+)/g))
      if (Number(id) > service.stored.length) violate(`category ${id} is reported and does not exist`);
    const sum = created.length + skipped.length + failed.length + unknown.length + pending;
    if (sum !== rows.length) violate(`${sum} of ${rows.length} rows are reported`);
    // Another user may have created a category of the shared file meanwhile.
    const isOwnFile = !rows.some((name) => name.startsWith('both ') || expectations.isExcused(name));
    if (isOwnFile && pending > expectations.missing(rows).length) violate('a row is reported as pending and exists');
  }

  // Waits for as long as the hint says, or for a random time.
  async function pause({ code, err }: Ended): Promise<void> {
    if (err.includes('when the state server is available')) await serverIsBack();
    const stated = code === 5 ? durationIn(err) : undefined;
    // After a kill, the user repeats the command soon.
    const longest = code === undefined ? 2000 : 8000;
    await scheduler.sleep(stated === undefined ? scheduler.between(100, longest) : stated + scheduler.between(1, 1000));
  }
}

function fileText(rows: readonly string[], format: Format): string {
  if (format === 'json') return JSON.stringify(rows.map((name) => ({ name })));
  if (format === 'ndjson') return rows.map((name) => JSON.stringify({ name })).join('\n');
  return `name\n${rows.join('\n')}\n`;
}
