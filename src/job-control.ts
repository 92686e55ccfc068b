// The adapter for job control, loaded only on terminals.
import type { JobControl } from './io.ts';

export const onContinue: JobControl['onContinue'] = (listener) => {
  process.on('SIGCONT', listener);
  return () => void process.off('SIGCONT', listener);
};

export const onStop: JobControl['onStop'] = (listener) => {
  let listens = true;
  const stop = (): void => {
    listener(true);
    // The default action stops the process, unless no shell could continue it.
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
    // The whole group, as the terminal would; the next turn runs when the shell continues it.
    process.kill(0, 'SIGTSTP');
    setImmediate(resolve);
  });
