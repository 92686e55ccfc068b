// One world from one seed: machines, users, a service and faults.
import { join } from 'node:path';
import type { Context } from '../../src/cli/context.ts';
import { run as runProgram } from '../../src/cli/program.ts';
import { PetstoreError } from '../../src/errors.ts';
import { seededRandom } from '../../src/sandbox/faults.ts';
import { Redactor } from '../../src/text/redact.ts';
import { formatDisks, root } from './disks.ts';
import { Expectations } from './expectations.ts';
import type { Cause } from './faults.ts';
import { drawFaults, Faults } from './faults.ts';
import type { Ended } from './invariants.ts';
import { Invariants } from './invariants.ts';
import { Network } from './network.ts';
import { setSurroundings } from './replaced/world.ts';
import type { Machine, SimulatedProcess } from './scheduler.ts';
import { Scheduler, settled } from './scheduler.ts';
import type { Manners } from './service.ts';
import { KEY, PLANS, Service } from './service.ts';
import { StateServer } from './state-server.ts';
import type { Task, UserPlan } from './users.ts';
import { live } from './users.ts';

/** Everything that the seed determines before the world begins. */
export type WorldPlan = ReturnType<typeof planWorld>;

/** `lasted`: virtual milliseconds. */
export type WorldResult = ReturnType<World['result']>;

const WORDS = ['dog', 'cat', 'Tom & Jerry', 'bär', 'a very long species name', 'horse', 'ox', '鯉'];
const TASKS = 'import import import import edit edit both create create list if-missing if-missing list'.split(' ');
const SHORT_TASKS = 'create if-missing list list import'.split(' ');
/** The virtual time within which every command must end, in milliseconds. */
const LONGEST_MS = 14 * 86_400_000;
const MOST_STEPS = 60_000;
/** The time for a command to end after Ctrl-C: a create in flight and the state server get a few seconds. */
const GRACE_MS = 8000;
const MAX_WAITS: Readonly<Record<string, number>> = { '10s': 10_000, '70s': 70_000, '5m': 300_000 };

export function planWorld(seed: number) {
  const random = seededRandom(seed * 7919 + 1);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const chance = (share: number): boolean => random() < share;
  const upTo = (count: number): number => Math.floor(random() * count);
  // In calm worlds, only the service determines the waits of a process that is not suspended, so their checks are exact.
  const isCalm = chance(0.3);
  const hasStateServer = chance(isCalm ? 0.2 : 0.5);
  const machines = Array.from({ length: hasStateServer && !isCalm ? 2 : 1 }, () => ({
    skewMs: chance(0.5) ? 0 : upTo(120_000) - 60_000,
  }));
  const causes = new Set<Cause>(['service']);
  if (chance(0.7)) causes.add('process');
  if (!isCalm && chance(0.3)) causes.add('clock');
  if (!isCalm && hasStateServer && chance(0.8)) causes.add('server');
  const manners = planService();
  const sharedFile = Array.from({ length: 3 + upTo(12) }, (_, at) => `both ${at}`);
  // Without a state server, users may be in containers that share the machine's files.
  const hasContainers = !hasStateServer && chance(0.5);
  // All users import the same file at once.
  const isRace = !isCalm && chance(0.4);
  const users = Array.from({ length: isCalm ? 1 : 2 + upTo(2) }, (_, number) => planUser(number));
  const rows = ['old 1', ...users.flatMap(({ tasks }) => tasks.flatMap((task) => ('names' in task ? task.names : [])))];
  const faults = drawFaults(random, rows.length, causes);
  const before = Array.from({ length: chance(0.4) ? 0 : 1 + upTo(6) }, () => pick(rows));
  // The longest time of a call or reply of the state server, and of connecting to the service, in milliseconds.
  const [serverMs, connectMs] = [pick([2, 30, 150]), pick([20, 20, 400])];
  return { seed, machines, hasStateServer, serverMs, connectMs, manners, before, users, faults };

  function planService(): Manners {
    const plan = PLANS[pick(['free', 'free', 'tight', 'tiny'] as const)];
    return {
      plan,
      usedBefore: chance(0.5) ? 0 : upTo(plan.perWindow),
      skewMs: upTo(20_000) - 10_000,
      retryAfter: pick(['seconds', 'seconds', 'date', 'none']),
      headers: chance(0.75),
      rounds: pick(['up', 'up', 'down']),
    };
  }

  function planUser(number: number): UserPlan {
    // Some names occur several times in the file.
    const nameAt = (at: number): string => `${number}${chance(0.35) ? '' : `.${at}`} ${pick(WORDS)}`;
    const own = Array.from({ length: 1 + Math.floor(random() ** 2 * 24) }, (_, at) => nameAt(at));
    const edited = [...own.slice(upTo(3)), own[0] as string, `new ${number}`];
    const files: Readonly<Record<string, readonly string[]>> = { import: own, edit: edited, both: sharedFile };
    const taskOf = (kind: string): Task => {
      const names = files[kind];
      if (names) return { kind: 'import', names, format: pick(['csv', 'json', 'ndjson']) };
      if (kind === 'list') return { kind };
      const ifMissing = kind === 'if-missing';
      // With `--if-missing`, usually a name from the file: the import then skips the rows with this name.
      return { kind: 'create', name: ifMissing && chance(0.7) ? pick(own) : `solo ${number}`, ifMissing };
    };
    // Imports wait for each other, so in most worlds only one user has many.
    const kinds = number === 0 || isRace ? TASKS : SHORT_TASKS;
    const tasks = Array.from({ length: 2 + upTo(4) }, (_, at) => taskOf(isRace && at === 0 ? 'both' : pick(kinds)));
    const options = chance(0.5) ? ['--json'] : [];
    if (chance(0.3)) options.push('--max-wait', pick(Object.keys(MAX_WAITS)));
    return {
      machine: number % machines.length,
      container: hasContainers ? number : 0,
      startsAt: upTo(isRace ? 200 : 3000),
      options,
      tasks,
    };
  }
}

export async function runWorld(plan: WorldPlan) {
  const world = new World(plan);
  await world.run();
  return world.result();
}

class World {
  readonly #plan: WorldPlan;
  readonly #scheduler: Scheduler;
  readonly #machines: readonly Machine[];
  readonly #service: Service;
  readonly #stateServer: StateServer;
  readonly #faults: Faults;
  readonly #invariants: Invariants;
  readonly #expectations: Expectations;
  readonly #processes: SimulatedProcess[] = [];

  constructor(plan: WorldPlan) {
    this.#plan = plan;
    const { serverMs, connectMs, hasStateServer: shared } = plan;
    const scheduler = new Scheduler(seededRandom(plan.seed * 104729 + 7));
    this.#scheduler = scheduler;
    this.#machines = plan.machines.map(({ skewMs }, at) => ({ name: `m${at}`, skewMs, setAt: -1 }));
    // A record and a ticket each take one round trip to the state server.
    const service = new Service(scheduler, plan.manners, shared ? 4 * serverMs : 0);
    this.#service = service;
    for (const name of plan.before) service.add(name);
    const stateServer = new StateServer(scheduler, serverMs);
    this.#stateServer = stateServer;
    const expectations = new Expectations(service, plan.before);
    this.#expectations = expectations;
    const has = (kinds: RegExp): boolean => plan.faults.some(({ kind }) => kinds.test(kind));
    const invariants = new Invariants({
      ...{ scheduler, service, stateServer, expectations, shared },
      calm: plan.users.length === 1 && !has(/^(?:clock|server|suspend)/),
      slowestMs: has(/late|slow|silent|truncated/) ? 31_000 : 0,
    });
    this.#invariants = invariants;
    const kill = (process: SimulatedProcess): void => {
      process.dead = true;
      process.onDeath();
    };
    const faults = new Faults(plan.faults, {
      ...{ scheduler, stateServer, kill },
      running: () => this.#processes.filter(({ dead }) => !dead),
      onServerLoss: () => this.#loseLocks(),
    });
    this.#faults = faults;
    const bytes = seededRandom(plan.seed + 99);
    formatDisks();
    setSurroundings({
      network: new Network({ ...{ scheduler, service, faults, invariants, connectMs }, ticketMs: serverMs }),
      ...{ scheduler, stateServer, kill, processes: this.#processes },
      randomByte: () => Math.floor(bytes() * 256),
    });
  }

  async run(): Promise<void> {
    let living = this.#plan.users.length;
    const { violations } = this.#invariants;
    const violate = (what: string): void => this.#invariants.violate(what);
    for (const plan of this.#plan.users) {
      const surroundings = {
        ...{ scheduler: this.#scheduler, service: this.#service, expectations: this.#expectations, violate },
        run: (args: readonly string[], input: string) => this.#start(plan, args, input),
        serverIsBack: () => this.#serverIsBack(),
      };
      live(plan, surroundings).then(
        () => living--,
        (error: unknown) => violate(`a user failed: ${(error as Error).stack}`),
      );
    }
    while (living > 0 && violations.length === 0) {
      if (!(await this.#scheduler.step())) violate('a command hangs: no event is left');
      if (this.#faults.inject()) await settled();
      const { now, steps } = this.#scheduler;
      if (now > LONGEST_MS || steps > MOST_STEPS) violate('a command does not end');
    }
    // Deliver the requests that are still in flight.
    for (let more = true; more && violations.length === 0; ) more = await this.#scheduler.step();
    if (violations.length > 0) return;
    for (const name of this.#expectations.tooOften()) violate(name);
    this.#invariants.checkRecords();
  }

  result() {
    const { steps, now, trace } = this.#scheduler;
    const { violations } = this.#invariants;
    for (const { what } of violations) this.#scheduler.note(undefined, `!!! ${what}`);
    return { violations, trace, injected: this.#faults.injected, steps, lasted: now, commands: this.#processes.length };
  }

  #start(user: UserPlan, args: readonly string[], input: string): Promise<Ended> {
    const machine = this.#machines[user.machine] as Machine;
    return new Promise((resolve) => {
      const interrupt = new AbortController();
      const process: SimulatedProcess = {
        ...{ pid: 100 + this.#processes.length, machine, host: `${machine.name}.${user.container}` },
        command: args[1] ?? '',
        maxWaitMs: MAX_WAITS[args[args.indexOf('--max-wait') + 1] ?? ''] ?? 120_000,
        ...{ startedAt: this.#scheduler.now, endedAt: -1, activeAt: -1, dead: false, suspendedUntil: 0 },
        ...{ diesWriting: false, diesRotating: false, refusedUntil: 0 },
        ...{ connecting: 0, inFlight: { create: 0, list: 0 }, creates: 0, lost: 0, owed: 0 },
        onInterrupt: () => {
          interrupt.abort(new PetstoreError('interrupted', 'interrupted', { exitCode: 130 }));
          const goesOn = (): void => this.#invariants.violate('a command goes on after Ctrl-C');
          // Wait twice, since the process may be suspended during the first wait.
          this.#scheduler.after(GRACE_MS, process, () => this.#scheduler.after(GRACE_MS, process, goesOn));
        },
        onDeath: () => end(undefined),
      };
      this.#processes.push(process);
      const output = { out: '', err: '' };
      let hasEnded = false;
      const end = (code: number | undefined): void => {
        if (hasEnded) return;
        hasEnded = true;
        process.dead = true;
        if (code !== undefined) process.endedAt = this.#scheduler.now;
        const ended = { args, code, ...output };
        const err = output.err.trim().replaceAll('\n', ' | ');
        this.#scheduler.note(process, `$ ${args.join(' ')} -> ${code ?? 'killed'} ${err}`);
        this.#invariants.ended(process, ended);
        this.#scheduler.after(1, undefined, () => resolve(ended));
      };
      this.#scheduler.note(process, `$ ${args.join(' ')}`);
      const context = this.#contextOf(process, args, input, interrupt.signal, output);
      this.#scheduler.after(1, process, () => {
        runProgram(context).then(end, (error: unknown) => {
          this.#invariants.violate(`a command throws: ${(error as Error).stack}`);
          end(1);
        });
      });
    });
  }

  #contextOf(
    process: SimulatedProcess,
    args: readonly string[],
    input: string,
    signal: AbortSignal,
    output: { out: string; err: string },
  ): Context {
    const home = join(root, process.machine.name);
    const redactor = new Redactor();
    const writer = (name: 'out' | 'err'): Context['stdout'] => ({
      ...{ isTTY: false, columns: undefined },
      write: async (text) => {
        const whole = typeof text === 'string' ? text : Buffer.from(text).toString();
        if (process.dead) return;
        output[name] += name === 'err' ? redactor.redact(whole) : whole;
        if (name === 'err') this.#invariants.wrote(process, whole);
      },
    });
    return {
      args,
      env: {
        ...{ HOME: home, TERM: 'dumb', PETSTORE_CONFIG_DIR: `${home}/config`, PETSTORE_STATE_DIR: `${home}/state` },
        ...{ PETSTORE_BASE_URL: 'https://pets.example/v1', PETSTORE_API_KEY: KEY },
        ...(this.#plan.hasStateServer && { PETSTORE_STATE_URL: 'redis://state.example:6379/0' }),
      },
      ...{ cwd: home, homeDir: home, platform: 'linux' },
      ...{ nodeVersion: '24.0.0', version: '0.0.0' },
      stdin: {
        isTTY: false,
        async *read() {
          yield new TextEncoder().encode(input);
        },
      },
      ...{ stdout: writer('out'), stderr: writer('err'), signal, redactor, cleanups: [] },
      interrupt: () => undefined,
      suspend: () => undefined,
      clock: this.#scheduler.clockOf(process),
    };
  }

  async #serverIsBack(): Promise<void> {
    while (this.#stateServer.isDown) await this.#scheduler.sleep(1000);
  }

  // Without the lock of a killed run, nothing shows that its creates may be on their way.
  #loseLocks(): void {
    for (const { tasks } of this.#plan.users)
      for (const task of tasks) if (task.kind === 'import') this.#expectations.excuse(task.names);
  }
}
