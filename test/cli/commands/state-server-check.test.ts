// The check of the state server runs every command that petstore needs.
import { expect, onTestFinished } from 'vitest';
import { checkServer } from '../../../src/cli/commands/doctor-checks.ts';
import { systemClock } from '../../../src/clock.ts';
import { StateServer } from '../../../src/shared-log/state-server.ts';
import { parseStateUrl } from '../../../src/shared-log/state-url.ts';
import { needs } from '../../support/capabilities.ts';
import { RedisServer } from '../../support/redis-server.ts';

needs('redis').each(['xadd', 'del'])('a user without the permission for %s is rejected', async (command) => {
  await using server = await RedisServer.start();
  const connection = parseStateUrl(server.url, undefined, { url: 'X', password: 'Y' });
  const state = new StateServer({ connection, clock: systemClock });
  onTestFinished(() => state.close());
  expect(await checkServer(state, systemClock)).toBeUndefined();
  await server.command('ACL', 'SETUSER', 'default', `-${command}`);
  await expect(checkServer(state, systemClock)).rejects.toThrow('permission denied');
});
