// The client library's connection to a state server, replaced by one in virtual time.
import { createHash } from 'node:crypto';
import { ReplyError } from '../state-server.ts';
import { callingProcess, surroundings } from './world.ts';

export { ReplyError };

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
    const { stateServer } = surroundings();
    const texts = args.map(String);
    if (command === 'EVAL')
      stateServer.learn(
        createHash('sha1')
          .update(texts[0] ?? '')
          .digest('hex'),
        texts[0] ?? '',
      );
    return this.#later(() => stateServer.call(command, texts));
  }

  disconnect(): void {
    this.status = 'end';
  }

  // Delays a call and its reply; a server that is down rejects both connections and calls.
  #later<T>(work: () => T): Promise<T> {
    const { scheduler, stateServer } = surroundings();
    return new Promise((resolve, reject) => {
      const reply = (settle: () => void): void => {
        this.#repliedAt = this.#inOrder(this.#repliedAt);
        scheduler.after(this.#repliedAt - scheduler.now, this.#owner, settle);
      };
      const arrive = (): void => {
        const hungMs = stateServer.hungUntil - scheduler.now;
        try {
          if (hungMs > 0) return void scheduler.after(hungMs, undefined, arrive);
          if (stateServer.isDown) throw Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });
          const result = work();
          reply(() => resolve(result));
        } catch (error) {
          reply(() => reject(error));
        }
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
