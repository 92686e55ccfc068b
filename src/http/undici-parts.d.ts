// Types the only modules of undici that are loaded. Its entry takes 45 ms to load and replaces the dispatcher of the
// global `fetch`, which belongs to the program around the library.
declare module 'undici/lib/dispatcher/agent.js' {
  import type { Agent as Class } from 'undici';

  const Agent: typeof Class;
  export = Agent;
}
declare module 'undici/lib/dispatcher/pool.js' {
  import type { Pool as Class } from 'undici';

  const Pool: typeof Class;
  export = Pool;
}
declare module 'undici/lib/dispatcher/proxy-agent.js' {
  import type { ProxyAgent as Class } from 'undici';

  const ProxyAgent: typeof Class;
  export = ProxyAgent;
}
declare module 'undici/lib/api/api-connect.js' {
  import type { Dispatcher } from 'undici';

  /** The method `connect`, which the entry adds to every dispatcher. */
  function connect(this: Dispatcher, options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData>;
  export = connect;
}
