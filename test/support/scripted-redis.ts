// A RESP server whose replies are bytes from the test.
import type { Socket } from 'node:net';
import type { RawServer } from './raw-server.ts';
import { startRawServer } from './raw-server.ts';

/** A running server and every command it got. */
export interface ScriptedRedis extends Pick<RawServer, 'port' | 'connections' | 'close'> {
  readonly commands: readonly string[];
}

/**
 * Starts the server on a free port of loopback.
 * @param answer gets the command's name and the socket of the reply
 */
export async function scriptedRedis(answer: (command: string, socket: Socket) => void): Promise<ScriptedRedis> {
  const commands: string[] = [];
  const onConnect = (socket: Socket): boolean => {
    socket.on('data', (data) => {
      for (const [, command = ''] of data.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)) {
        commands.push(command);
        answer(command, socket);
      }
    });
    return true;
  };
  return { ...(await startRawServer({ onConnect })), commands };
}
