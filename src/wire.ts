// Joins what a session's requests go through: the sandbox where it is asked for, ledger, transport, trace and sender.
import type { Session } from './context.ts';
import { createSender } from './http/send.ts';
import { createTransport } from './http/transport.ts';
import type { Sender, Transport } from './http/types.ts';
import type { Target } from './profiles/credentials.ts';
import type { Ledger } from './quota/ledger.ts';
import { openLedger } from './quota/ledger.ts';

/**
 * @param session whose state folder holds the ledger
 * @param target whose key and address the ledger is for
 * @returns the ledger of that key; in memory, with one warning, where no file can be written
 */
export function openLedgerOf(session: Session, target: Target): Ledger {
  const { clock } = session.context;
  return openLedger({
    stateDir: session.stateDir,
    tempDir: session.context.tempDir,
    identity: target.identity,
    key: target.key,
    clock,
    timeoutMs: session.globals.timeoutMs,
    onWarning: (text) => void session.warn(text),
  });
}

/**
 * @param session the open session
 * @param target where to and with which key
 * @returns a sender; what it holds is let go at the end of the command
 */
export async function openSender(session: Session, target: Target): Promise<Sender> {
  const { context, globals } = session;
  const baseUrl = target.keySource === 'sandbox' ? await serveSandbox(session, target) : target.baseUrl;
  const transport = createTransport({
    baseUrl,
    key: target.key,
    version: context.version,
    env: context.env,
    nodeVersion: context.nodeVersion,
    now: context.clock.now,
  });
  const sender = createSender({
    transport: globals.verbose ? await traced(session, transport, baseUrl) : transport,
    ledger: openLedgerOf(session, target),
    clock: context.clock,
    signal: context.signal,
    limits: { maxWaitMs: globals.maxWaitMs, maxRetries: globals.maxRetries, timeoutMs: globals.timeoutMs },
    onWait: (wait) => session.watch.wait?.(wait),
  });
  context.endings.push(() => sender.close());
  return counted(session, sender);
}

// Tells the watch how many requests are under way: only then is there something to show a spinner for.
function counted(session: Session, sender: Sender): Sender {
  let busy = 0;
  return {
    async send(request) {
      session.watch.busy?.(++busy);
      try {
        return await sender.send(request);
      } finally {
        session.watch.busy?.(--busy);
      }
    },
    close: () => sender.close(),
  };
}

async function traced(session: Session, transport: Transport, baseUrl: string): Promise<Transport> {
  const { trace } = await import('./http/trace.ts');
  return trace(transport, baseUrl, session.context.clock, (line) => void session.context.stderr.write(`${line}\n`));
}

async function serveSandbox(session: Session, target: Target): Promise<string> {
  const { startEmbedded } = await import('./sandbox/embedded.ts');
  const sandbox = await startEmbedded({
    dataFile: target.identity.slice('sandbox:'.length),
    clock: session.context.clock,
  });
  session.context.endings.push(() => sandbox.close());
  return sandbox.baseUrl;
}
