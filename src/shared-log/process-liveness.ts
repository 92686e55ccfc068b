// Identifies the process that wrote a record, by pid and start time (pids are reused), and tells whether it is running.
import * as nodeFs from 'node:fs';
import { hostname } from 'node:os';

export interface ProcessRef {
  readonly pid: number;
  /** In clock ticks since boot; '' if the platform does not report it. */
  readonly start: string;
  /** Host name, pid namespace and boot id, since a pid is unique only within these; `-` for what the platform lacks. */
  readonly host: string;
}

export type Liveness = 'alive' | 'dead' | 'unknown';

/** Looks at other processes. What it knows about its own process, it reads once: a ledger asks for every ticket. */
export class ProcessObserver {
  readonly self: ProcessRef;
  readonly #readFile: typeof nodeFs.readFileSync;
  readonly #seesOwnNamespace: boolean;
  readonly #knowsBoot: boolean;

  constructor({ readFileSync, readlinkSync }: Pick<typeof nodeFs, 'readFileSync' | 'readlinkSync'> = nodeFs) {
    this.#readFile = readFileSync;
    // A container may mount the /proc of another pid namespace, which shows other pids.
    this.#seesOwnNamespace = tryRead(() => readlinkSync('/proc/self')) === String(process.pid);
    const namespace = tryRead(() => readlinkSync('/proc/self/ns/pid'));
    const boot = tryRead(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim());
    this.#knowsBoot = boot !== NONE;
    this.self = { pid: process.pid, start: this.#startOf('self') ?? '', host: [hostname(), namespace, boot].join(' ') };
  }

  /** Returns whether a process is running; `unknown` if it ran on another host, or its pid may have been reused. */
  livenessOf({ pid, start, host }: ProcessRef): Liveness {
    const { self } = this;
    if (host !== self.host) return 'unknown';
    if (start !== '' && this.#seesOwnNamespace) {
      const startNow = pid === self.pid ? self.start : this.#startOf(pid);
      return startNow === start ? 'alive' : 'dead';
    }
    try {
      process.kill(pid, 0);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return 'dead';
    }
    return 'unknown';
  }

  /**
   * As `livenessOf`, for a process in a log on a server: `unknown` on macOS and Windows, which report no boot id, because
   * another machine may have the same host name.
   */
  livenessOnServer(ref: ProcessRef): Liveness {
    return this.#knowsBoot ? this.livenessOf(ref) : 'unknown';
  }

  // Field 22 of /proc/PID/stat (proc(5)); field 2, the command, may contain spaces and parentheses. A zombie has ended.
  #startOf(pid: number | 'self'): string | undefined {
    const stat = tryRead(() => this.#readFile(`/proc/${pid}/stat`, 'latin1'));
    const [state = '', ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return /^[ZX]/.test(state) ? undefined : fields[18];
  }
}

const NONE = '-';

function tryRead(read: () => string): string {
  try {
    return read();
  } catch {
    return NONE;
  }
}

let observer: ProcessObserver | undefined;

function ownObserver(): ProcessObserver {
  observer ??= new ProcessObserver();
  return observer;
}

export function currentProcess(): ProcessRef {
  return ownObserver().self;
}

export function livenessOf(ref: ProcessRef): Liveness {
  return ownObserver().livenessOf(ref);
}

export function livenessOnServer(ref: ProcessRef): Liveness {
  return ownObserver().livenessOnServer(ref);
}
