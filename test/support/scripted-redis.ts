// A server that speaks RESP by script: each command gets whatever bytes the test hands out.
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';

/** A running server and every command it got. */
export interface ScriptedRedis {
  readonly port: number;
  readonly commands: readonly string[];
  readonly connections: () => number;
  close(): void;
}

/**
 * Starts the server on a free port of loopback.
 * @param answer gets the command's name and the socket to answer on
 */
export async function scriptedRedis(answer: (command: string, socket: Socket) => void): Promise<ScriptedRedis> {
  const commands: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      for (const [, command = ''] of data.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)) {
        commands.push(command);
        answer(command, socket);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    commands,
    connections: () => connections,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
