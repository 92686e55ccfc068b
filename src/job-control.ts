// The part of main's door to the process that only a terminal needs: what a shell does to it (see `Jobs` in io.ts).
import type { JobControl } from './io.ts';

export const onContinue: JobControl['onContinue'] = (listener) => {
  process.on('SIGCONT', listener);
  return () => void process.off('SIGCONT', listener);
};

export const onStop: JobControl['onStop'] = (listener) => {
  let listens = true;
  const stop = (): void => {
    listener(true);
    // Without a listener the signal does what it does: it stops, unless nobody is there to continue.
    process.off('SIGTSTP', stop);
    process.kill(process.pid, 'SIGTSTP');
    setImmediate(() => {
      if (!listens) return;
      listener(false);
      process.on('SIGTSTP', stop);
    });
  };
  process.on('SIGTSTP', stop);
  return () => {
    listens = false;
    process.off('SIGTSTP', stop);
  };
};

export const stop: JobControl['stop'] = () =>
  new Promise((resolve) => {
    // The whole job, as the terminal itself would; the next turn comes when the shell continues it.
    process.kill(0, 'SIGTSTP');
    setImmediate(resolve);
  });
