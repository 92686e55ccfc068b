// The sandbox that a command serves itself: quick, over real HTTP, its data and windows kept between commands.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startEmbedded } from '../../src/sandbox/embedded.ts';
import { tempDir } from '../support/temp-dir.ts';
import { inProcess } from '../support/world.ts';
import { handClock } from './support.ts';

test('what one embedded sandbox was given, and what was used of its limit, the next one knows', async () => {
  const options = { dataFile: join(tempDir(), 'data'), clock: handClock() };
  for (let command = 1; command <= 3; command++) {
    const { baseUrl, key, close } = await startEmbedded(options);
    expect(baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    const answer = await fetch(`${baseUrl}/categories`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
      body: '{"name":"dog"}',
    });
    expect(await answer.json()).toEqual({ id: command, name: 'dog' });
    expect(answer.headers.get('x-ratelimit-remaining')).toBe(String(60 - command));
    await close();
  }
});

test('twenty commands at once, each with a sandbox of its own, create twenty categories', async () => {
  const dir = tempDir();
  const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
  const create = (name: string): Promise<{ code: number; out: string }> =>
    inProcess(['categories', 'create', '--name', name, '-p', 'sandbox', '--json'], { dir });
  const created = await Promise.all(names.map(create));
  expect(created.map(({ code }) => code)).toEqual(names.map(() => 0));
  const ids = created.map(({ out }) => (JSON.parse(out) as { id: number }).id);
  expect(ids.sort((a, b) => a - b)).toEqual(names.map((_, i) => i + 1));
});
