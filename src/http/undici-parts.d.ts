// The type of the only part of undici that is loaded without a proxy: its full entry costs every request 45 ms.
declare module 'undici/lib/dispatcher/agent.js' {
  import type { Agent as Class } from 'undici';

  const Agent: typeof Class;
  export = Agent;
}
