// A RESP server whose replies are raw bytes.
import type { Socket } from 'node:net';
import type { RawServer } from './raw-server.ts';
import { startRawServer } from './raw-server.ts';

export interface ScriptedRedis extends Pick<RawServer, 'port' | 'connections' | 'close'> {
  readonly commands: readonly string[];
}

/** Starts the server; `reply` is called for each command. */
export async function scriptedRedis(reply: (command: string, socket: Socket) => void): Promise<ScriptedRedis> {
  const commands: string[] = [];
  const onConnect = (socket: Socket): boolean => {
    socket.on('data', (data) => {
      for (const [, command = ''] of data.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)) {
        commands.push(command);
        reply(command, socket);
      }
    });
    return true;
  };
  return { ...(await startRawServer({ onConnect })), commands };
}
