// Types the only module of undici that is loaded; the full entry takes 45 ms to load.
declare module 'undici/lib/dispatcher/agent.js' {
  import type { Agent as Class } from 'undici';

  const Agent: typeof Class;
  export = Agent;
}
