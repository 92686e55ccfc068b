// The adapter for job control, loaded only on terminals.
import type { JobControl } from './io.ts';

export const onContinue: JobControl['onContinue'] = (listener) => {
  process.on('SIGCONT', listener);
  return () => void process.off('SIGCONT', listener);
};

export const stop: JobControl['stop'] = () =>
  new Promise((resolve) => {
    // The whole group, as the terminal would; the next turn runs when the shell continues it.
    process.kill(0, 'SIGTSTP');
    setImmediate(resolve);
  });
