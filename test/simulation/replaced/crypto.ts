// `node:crypto` with random bytes from the seed.
import * as crypto from 'node:crypto';
import { surroundings } from './world.ts';

export const { createHash, randomInt, randomUUID } = crypto;

export function randomBytes(size: number): Buffer {
  const { randomByte } = surroundings();
  return Buffer.from(Array.from({ length: size }, randomByte));
}

export const everything = { ...crypto, randomBytes };
