// One world from one seed: machines, users, a service and faults.

import { PassThrough } from 'node:stream';
import { PetstoreError } from '../../src/errors.ts';
import type { Context } from '../../src/io.ts';
import { run as runProgram } from '../../src/program.ts';
import { Redactor } from '../../src/redact.ts';
import type { Coverage, Fault } from './faults.ts';
import { drawFaults, Faults } from './faults.ts';
import type { Ended, Violation } from './invariants.ts';
import { Invariants } from './invariants.ts';
import { Network } from './network.ts';
import { formatDisks, loseUnsynced, replaceJournals } from './replaced/fs.ts';
import { setSurroundings } from './replaced/world.ts';
import type { Machine, SimulatedProcess } from './scheduler.ts';
import { draws, Scheduler, settled } from './scheduler.ts';
import type { Manners } from './service.ts';
import { LATEST_AFTER_LOSS_MS, LATEST_MS, PLANS, Service } from './service.ts';
import { StateServer } from './state-server.ts';
import { Trace } from './trace.ts';
import type { Task, UserPlan } from './users.ts';
import { Expectations, User } from './users.ts';

/** Everything that the seed determines before the world begins; shrinking removes parts of it. */
export interface WorldPlan {
  readonly seed: number;
  readonly machines: readonly { readonly skewMs: number }[];
  readonly hasStateServer: boolean;
  /** How long a call to the state server takes, and a connection to the service, milliseconds. */
  readonly serverMs: number;
  readonly connectMs: number;
  readonly manners: Manners;
  readonly before: readonly string[];
  readonly users: readonly UserPlan[];
  readonly faults: readonly Fault[];
}

export interface WorldResult {
  readonly plan: WorldPlan;
  readonly violations: readonly Violation[];
  readonly trace: readonly string[];
  readonly coverage: Coverage;
  /** Exit codes with error messages, without names and numbers. */
  readonly endings: ReadonlySet<string>;
  readonly steps: number;
  /** Virtual milliseconds. */
  readonly lasted: number;
  readonly commands: number;
}

const WORDS = ['dog', 'cat', 'Tom & Jerry', 'bär', 'a very long species name', 'rabbit ', 'horse', 'no!', 'ox', '鯉'];
const FIRST_KEY = 'sk_live_first_key_0001';
/** Virtual time after which every command has ended. */
const LONGEST_MS = 14 * 86_400_000;
const MOST_STEPS = 60_000;
/** The time for a command to end after Ctrl-C: a create in flight and the state server get a few seconds. */
const GRACE_MS = 8000;
const MAX_WAITS: Readonly<Record<string, number>> = { '10s': 10_000, '70s': 70_000, '5m': 300_000, '48h': 172_800_000 };

export function planWorld(seed: number): WorldPlan {
  const random = draws(seed * 7919 + 1);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const chance = (share: number): boolean => random() < share;
  // In three worlds in ten only the service determines what a process must wait for, and these checks are exact.
  const isCalm = chance(0.3);
  const machines = Array.from({ length: !isCalm && chance(0.55) ? 2 : 1 }, () => ({
    skewMs: chance(0.5) ? 0 : Math.floor((random() - 0.5) * 120_000),
  }));
  const hasStateServer = machines.length > 1 || chance(0.2);
  const others = (['pause', 'machine', 'server'] as const).filter(
    (cause) => !isCalm && chance(cause === 'server' ? 0.8 : 0.45) && (cause !== 'server' || hasStateServer),
  );
  const causes = new Set(['service', ...(chance(0.7) ? (['process'] as const) : []), ...others] as const);
  const headers = chance(0.85);
  const retryAfter = pick(['seconds', 'seconds', 'date', 'none'] as const);
  const drawn = pick(
    ['free', 'free', 'pro', 'business', 'tight', 'tight', 'tiny'].map((name) => PLANS[name] ?? PLANS['free']),
  ) as Manners['plan'];
  // No user can wait for the end of a day that no response states.
  const plan = headers || retryAfter !== 'none' ? drawn : { ...drawn, perDay: Number.POSITIVE_INFINITY };
  const manners: Manners = {
    plan,
    usedBefore: chance(0.5) ? 0 : Math.floor(random() * plan.perWindow),
    skewMs: Math.floor((random() - 0.5) * 20_000),
    retryAfter,
    headers,
    rounds: pick(['up', 'up', 'down']),
    alter: chance(0.75) ? 'nothing' : pick(['trim', 'cut', 'escape', 'fold']),
    firstId: chance(0.1) ? 2n ** 53n + 1n : 1n,
    order: pick(['oldest', 'oldest', 'newest', 'name']),
  };
  const sharedFile = Array.from({ length: 3 + Math.floor(random() * 12) }, (_, at) => `both ${at}`);
  // Two users import the same file at once.
  const isRace = !isCalm && chance(machines.length > 1 ? 0.5 : 0.15);
  const count = isRace || (!isCalm && chance(0.45)) ? 2 : 1;
  const users = Array.from({ length: count }, (_, number): UserPlan => {
    // Some names occur twice in the file.
    const nameAt = (at: number): string => `${number}${chance(0.35) ? '' : `.${at}`} ${pick(WORDS)}`;
    const own = Array.from({ length: 1 + Math.floor(random() ** 2 * 24) }, (_, at) => nameAt(at));
    const importOf = (names: readonly string[]): Task & { kind: 'import' } => ({
      kind: 'import',
      names,
      format: pick(['csv', 'json', 'ndjson']),
    });
    const edited = [...own.slice(Math.floor(random() * 3)), own[0] as string, `new ${number}`];
    const tasks = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, at): Task => {
      const kind =
        isRace && at === 0
          ? 'both'
          : pick([
              'import',
              'import',
              'import',
              'import',
              'edit',
              'edit',
              'both',
              'create',
              'create',
              'list',
              'if-missing',
              'if-missing',
              'list',
              'quota',
              'login',
            ]);
      if (kind === 'import') return importOf(own);
      if (kind === 'edit') return importOf(edited);
      if (kind === 'both') return importOf(sharedFile);
      if (kind === 'create') return { kind, name: `solo ${number}`, ifMissing: false };
      // A row of the file, which its import skips: unless the service lists it under another name.
      const name = manners.alter === 'nothing' && chance(0.7) ? pick(own) : `solo ${number}`;
      if (kind === 'if-missing') return { kind: 'create', name, ifMissing: true };
      return { kind: kind as 'list' | 'quota' | 'login' };
    });
    if (chance(0.4)) tasks.push(importOf(own));
    // The service's operator deletes categories.
    if (count === 1 && chance(0.15)) tasks.push({ ...importOf(own), isAfterDeletion: true }, importOf(own));
    const options = [
      chance(0.5) ? ['--json'] : [],
      chance(0.3) ? ['--max-wait', pick(['10s', '70s', '5m'])] : [],
      chance(0.2) ? ['--quiet'] : [],
    ].flat();
    return {
      name: `user-${number}`,
      machine: number % machines.length,
      startsAt: Math.floor(random() * (isRace ? 200 : 3000)),
      atTerminal: chance(0.2),
      options,
      tasks,
    };
  });
  const rows = ['old 1', ...users.flatMap(({ tasks }) => tasks.flatMap((task) => ('names' in task ? task.names : [])))];
  const faults = drawFaults(random, rows.length, causes).filter(
    ({ kind }) =>
      // Only one user's journal is replaced: another import would go on with what the copy lacks.
      kind !== 'journal-replaced' || users.length === 1,
  );
  const before = Array.from({ length: chance(0.4) ? 0 : 1 + Math.floor(random() * 6) }, () => pick(rows));
  // A key that was pasted in place of a name.
  if (chance(0.1) && !faults.some(({ kind }) => kind === 'new-key')) before.push(`pasted ${FIRST_KEY}`);
  const serverMs = pick([2, 30, 150]);
  const connectMs = pick([20, 20, 400]);
  return { seed, machines, hasStateServer, serverMs, connectMs, manners, before, users, faults };
}

/** How long a machine is off after a power failure: as long as an import waits for requests of a killed one. */
const REBOOT_MS = 10_000;

/** @param mostSteps the number of steps after which the world ends */
export async function runWorld(plan: WorldPlan, mostSteps = MOST_STEPS): Promise<WorldResult> {
  const world = new World(plan);
  await world.run(mostSteps);
  return world.result();
}

class World {
  readonly #plan: WorldPlan;
  readonly #scheduler: Scheduler;
  readonly #trace: Trace;
  readonly #machines: readonly Machine[];
  readonly #service: Service;
  readonly #stateServer: StateServer;
  readonly #faults: Faults;
  readonly #invariants: Invariants;
  readonly #expectations: Expectations;
  readonly #processes: SimulatedProcess[] = [];
  readonly #keys = [FIRST_KEY];
  readonly #mayLoseRecords: boolean;
  readonly #offUntil = new Map<Machine, number>();
  readonly #endings = new Set<string>();
  #commands = 0;

  constructor(plan: WorldPlan) {
    this.#plan = plan;
    this.#scheduler = new Scheduler(draws(plan.seed * 104729 + 7));
    const scheduler = this.#scheduler;
    this.#trace = new Trace(scheduler);
    this.#machines = plan.machines.map(({ skewMs }, at) => ({
      name: `m${at}`,
      skewMs,
      jumps: [],
      freeBytes: Number.POSITIVE_INFINITY,
      diskFailed: false,
    }));
    this.#mayLoseRecords = plan.faults.some(({ kind }) => /^(?:server|journal|power|disk|kill)/.test(kind));
    const longestLateMs = this.#mayLoseRecords ? LATEST_AFTER_LOSS_MS : LATEST_MS;
    // A record and a ticket each take a call to the state server and back.
    const newsMs = plan.hasStateServer ? 4 * plan.serverMs : 0;
    this.#service = new Service(scheduler, plan.manners, this.#keys[0] as string, longestLateMs, newsMs);
    for (const name of plan.before) this.#service.add(name, undefined, name);
    this.#stateServer = new StateServer(scheduler, plan.serverMs);
    this.#expectations = new Expectations(this.#service);
    this.#expectations.addFile(plan.before);
    this.#invariants = new Invariants({
      scheduler,
      service: this.#service,
      stateServer: this.#stateServer,
      expectations: this.#expectations,
      keys: this.#keys,
      shared: plan.hasStateServer,
      machines: plan.machines.length,
      calm:
        plan.users.length === 1 &&
        !plan.faults.some(({ kind }) => /^(?:suspend|sleep|power|clock|disk|server)/.test(kind)),
      hasFaults: () => this.#faults.coverage.size > 0,
      neverPaused: !plan.faults.some(({ kind }) => /^(?:suspend|sleep)/.test(kind)),
      slowestMs: plan.faults.some(({ kind }) => /late|slow|silent|truncated/.test(kind)) ? 31_000 : 0,
    });
    this.#faults = new Faults(plan.faults, {
      scheduler,
      trace: this.#trace,
      stateServer: this.#stateServer,
      machines: this.#machines,
      running: () => this.#processes.filter(({ dead }) => !dead),
      kill: (process) => this.#kill(process),
      cutPower: (machine) => this.#cutPower(machine),
      replaceJournals: (machine) => this.#replaceJournals(machine),
      violate: (what) => this.#invariants.violate(what),
      renewKey: () => this.#renewKey(),
      onServerLoss: () => this.#loseLocks(),
    });
    const bytes = draws(plan.seed + 99);
    formatDisks();
    setSurroundings({
      scheduler,
      network: new Network({
        scheduler,
        service: this.#service,
        faults: this.#faults,
        invariants: this.#invariants,
        trace: this.#trace,
        connectMs: plan.connectMs,
      }),
      stateServer: this.#stateServer,
      processes: this.#processes,
      randomByte: () => Math.floor(bytes() * 256),
      kill: (process) => this.#kill(process),
    });
  }

  async run(mostSteps: number): Promise<void> {
    let living = this.#plan.users.length;
    for (const plan of this.#plan.users) {
      const user = new User(plan, {
        scheduler: this.#scheduler,
        service: this.#service,
        trace: this.#trace,
        machine: this.#machines[plan.machine] as Machine,
        run: async (machine, args, input) => {
          await this.#scheduler.sleep(Math.max(0, (this.#offUntil.get(machine) ?? 0) - this.#scheduler.now));
          return this.#start(machine, args, input, plan.atTerminal && args[1] === 'import');
        },
        expectations: this.#expectations,
        loggedIn: (machine) => void this.#loggedIn.add(machine),
        violate: (what) => this.#invariants.violate(what),
        mayLoseRecords: this.#mayLoseRecords,
        serverIsBack: () => this.#serverIsBack(),
      });
      user.live().then(
        () => living--,
        (error: unknown) => this.#invariants.violate(`a user failed: ${(error as Error).stack}`),
      );
    }
    const { violations } = this.#invariants;
    while (living > 0 && violations.length === 0 && this.#scheduler.steps < mostSteps) {
      if (!(await this.#scheduler.step())) this.#invariants.violate('a command hangs: no event is left');
      if (this.#faults.inject()) await settled();
      if (this.#scheduler.now > LONGEST_MS) this.#invariants.violate('a command does not end');
    }
    if (this.#scheduler.steps >= MOST_STEPS) this.#invariants.violate('a command does not end');
    // Deliver the requests that are still in flight.
    for (let more = true; more && violations.length === 0 && living === 0; ) more = await this.#scheduler.step();
    if (violations.length > 0 || living > 0) return;
    for (const name of this.#expectations.tooOften()) this.#invariants.violate(name);
    this.#invariants.checkRecords();
  }

  result(): WorldResult {
    const { steps, now } = this.#scheduler;
    const { violations } = this.#invariants;
    for (const { what } of violations) this.#trace.add(undefined, `!!! ${what}`);
    const { coverage } = this.#faults;
    return {
      plan: this.#plan,
      violations,
      trace: this.#trace.lines,
      coverage,
      endings: this.#endings,
      steps,
      lasted: now,
      commands: this.#commands,
    };
  }

  #start(machine: Machine, args: readonly string[], input: string, atTerminal: boolean): Promise<Ended> {
    return new Promise((resolve) => {
      this.#commands++;
      const interrupt = new AbortController();
      const process: SimulatedProcess = {
        pid: 100 + this.#processes.length,
        machine,
        command: args[1] ?? '',
        maxWaitMs: MAX_WAITS[args[args.indexOf('--max-wait') + 1] ?? ''] ?? 120_000,
        hasQuestion: atTerminal,
        dead: false,
        suspendedUntil: 0,
        sleptMs: 0,
        refusedUntil: 0,
        lost: 0,
        hasLostJournal: false,
        sparedUntil: 0,
        diesWriting: false,
        connecting: 0,
        inFlight: { create: 0, list: 0 },
        sentNames: new Set(),
        listed: new Set(),
        creates: 0,
        interrupted: 0,
        owed: 0,
        startedAt: this.#scheduler.now,
        endedAt: -1,
        activeAt: -1,
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
        const ended = { args, code, ...output, listed: process.listed, sentNames: process.sentNames };
        this.#trace.add(
          process,
          `$ ${args.join(' ')} -> ${code ?? 'killed'} ${output.err.trim().replaceAll('\n', ' | ')}`,
        );
        this.#invariants.ended(process, ended);
        const [, message = ''] = /(?:error: |"message":")([^"|\n]*)/.exec(output.err) ?? [];
        this.#endings.add(`${code} ${message.replace(/"[^"]*"|\d+/g, '…').slice(0, 60)}`);
        this.#scheduler.after(1, undefined, () => resolve(ended));
      };
      this.#trace.add(process, `$ ${args.join(' ')}`);
      const context = this.#contextOf(process, args, { input, atTerminal }, interrupt.signal, output);
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
    { input, atTerminal }: { readonly input: string; readonly atTerminal: boolean },
    signal: AbortSignal,
    output: { out: string; err: string },
  ): Context {
    const home = `/${process.machine.name}`;
    const keyboard = new PassThrough();
    const redactor = new Redactor();
    const writer = (name: 'out' | 'err'): Context['stdout'] => ({
      isTTY: atTerminal,
      columns: undefined,
      write: async (text) => {
        const whole = typeof text === 'string' ? text : Buffer.from(text).toString();
        if (process.dead) return;
        output[name] += redactor.redact(whole, name === 'out');
        if (name === 'err') this.#invariants.wrote(process, whole);
        if (whole.includes('(y/N)')) this.#answer(process, keyboard);
      },
    });
    const login = args[0] === 'auth';
    return {
      args,
      env: {
        HOME: home,
        TERM: 'dumb',
        PETSTORE_CONFIG_DIR: `${home}/config`,
        PETSTORE_STATE_DIR: `${home}/state`,
        PETSTORE_BASE_URL: 'https://pets.example/v1',
        // A user who has logged in uses the saved key.
        ...(!login && !this.#loggedIn.has(process.machine) && { PETSTORE_API_KEY: this.#keys[0] }),
        ...(this.#plan.hasStateServer && { PETSTORE_STATE_URL: 'redis://state.example:6379/0' }),
      },
      cwd: home,
      platform: 'linux',
      nodeVersion: '24.0.0',
      homeDir: home,
      tempDir: `${home}/tmp`,
      version: '0.0.0',
      stdin: {
        isTTY: atTerminal,
        raw: keyboard as unknown as NodeJS.ReadStream,
        async *read() {
          yield new TextEncoder().encode(input);
        },
      },
      stdout: writer('out'),
      stderr: writer('err'),
      clock: this.#scheduler.clockOf(process),
      signal,
      redactor,
      cleanups: [],
    };
  }

  // Answers the prompt after a delay in which the list may change.
  #answer(process: SimulatedProcess, keyboard: PassThrough): void {
    const answer = this.#scheduler.random() < 0.9 ? 'y\n' : 'n\n';
    this.#scheduler.after(this.#scheduler.between(300, 20_000), process, () => void keyboard.write(answer));
  }

  readonly #loggedIn = new Set<Machine>();

  async #serverIsBack(): Promise<void> {
    while (this.#stateServer.isDown) await this.#scheduler.sleep(1000);
  }

  #kill(process: SimulatedProcess): void {
    process.dead = true;
    process.onDeath();
  }

  #cutPower(machine: Machine): void {
    for (const process of this.#processes) if (process.machine === machine && !process.dead) this.#kill(process);
    loseUnsynced(machine.name);
    // The machine starts again later.
    this.#offUntil.set(machine, this.#scheduler.now + REBOOT_MS);
    // Logs are not synced.
    machine.diskFailed = true;
  }

  #replaceJournals(machine: Machine): void {
    replaceJournals(machine.name);
    this.#loseLocks();
    for (const process of this.#processes)
      if (process.machine === machine && process.activeAt >= 0 && !this.#plan.hasStateServer)
        process.hasLostJournal = true;
  }

  #renewKey(): void {
    const key = `sk_live_other_key_${String(this.#keys.length).padStart(4, '0')}`;
    this.#keys.push(key);
    this.#service.validKey = key;
  }

  // Without its lock, nothing says that creates of a killed run may be on their way.
  #loseLocks(): void {
    for (const { tasks } of this.#plan.users)
      for (const task of tasks) if (task.kind === 'import') this.#expectations.excuse(task.names);
  }
}
