// A RESP server whose replies are raw bytes.
import type { Socket } from 'node:net';
import { startTcpServer } from './raw-server.ts';

/** Starts the server; `reply` is called for each command. */
export async function scriptedRedis(reply: (command: string, socket: Socket) => void) {
  const commands: string[] = [];
  const server = await startTcpServer((socket) => {
    socket.on('data', (data) => {
      for (const [, command = ''] of data.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)) {
        commands.push(command);
        reply(command, socket);
      }
    });
  });
  return { ...server, commands };
}
