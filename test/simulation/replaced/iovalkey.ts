// The iovalkey connection to a state server, replaced by one in virtual time.
import { callingProcess, surroundings } from './world.ts';

/** An error reply; the simulated server sends none. */
export class ReplyError extends Error {}

export class Redis {
  status = 'wait';
  readonly #owner = callingProcess();
  #arrivedAt = 0;
  #repliedAt = 0;

  on(): this {
    return this;
  }

  connect(): Promise<void> {
    return this.#later(() => {
      this.status = 'ready';
    });
  }

  call(command: string, ...args: readonly (string | number)[]): Promise<unknown> {
    return this.#later(() => surroundings().stateServer.call(command, args.map(String)));
  }

  disconnect(): void {
    this.status = 'end';
  }

  // Delays a call and its reply; a server that is down rejects both connections and calls.
  #later<T>(work: () => T): Promise<T> {
    const { scheduler, stateServer } = surroundings();
    return new Promise((resolve, reject) => {
      const arrive = (): void => {
        const hungMs = stateServer.hungUntil - scheduler.now;
        if (hungMs > 0) return void scheduler.after(hungMs, undefined, arrive);
        const isDown = stateServer.isDown;
        const result = isDown ? undefined : work();
        this.#repliedAt = this.#inOrder(this.#repliedAt);
        scheduler.after(this.#repliedAt - scheduler.now, this.#owner, () =>
          isDown
            ? reject(Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' }))
            : resolve(result as T),
        );
      };
      this.#arrivedAt = this.#inOrder(this.#arrivedAt);
      // A command arrives even if its sender is killed.
      scheduler.after(this.#arrivedAt - scheduler.now, undefined, arrive);
    });
  }

  // A connection delivers calls and replies in their order.
  #inOrder(previous: number): number {
    const { scheduler, stateServer } = surroundings();
    return Math.max(previous, scheduler.now + scheduler.between(0.1, stateServer.slowestMs));
  }
}

export const everything = Redis;
