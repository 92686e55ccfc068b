// The timers of the program, in virtual time.
import { callingProcess, surroundings } from './world.ts';

class Timer {
  cancel: () => void = () => undefined;
  unref(): this {
    return this;
  }
  ref(): this {
    return this;
  }
}

export function setTimeout(happen: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): Timer {
  const timer = new Timer();
  timer.cancel = surroundings().scheduler.after(ms, callingProcess(), () => happen(...args));
  return timer;
}

export function setInterval(happen: () => void, ms: number): Timer {
  const timer = new Timer();
  const owner = callingProcess();
  const again = (): void => {
    timer.cancel = surroundings().scheduler.after(ms, owner, () => {
      again();
      happen();
    });
  };
  again();
  return timer;
}

export function clearTimeout(timer: Timer | undefined): void {
  timer?.cancel();
}

export const clearInterval = clearTimeout;
