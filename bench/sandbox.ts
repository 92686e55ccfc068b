// Kills the sandbox again and again during creates: no create with a 201 may be lost.
import { join } from 'node:path';
import { seededRandom } from '../src/sandbox/faults.ts';
import { dataPaths, Store } from '../src/sandbox/store.ts';
import { killDuringCreates } from '../test/support/sandbox-process.ts';
import { tempDir } from '../test/support/temp-dir.ts';
import { must, say } from './report.ts';

const BIN = process.env['PETSTORE_BIN'] ?? 'bin/petstore.js';

/** `npm run bench -- sandbox [KILLS]`: 200 kills by default. */
export async function run([kills = '200']: readonly string[]): Promise<void> {
  const dataFile = join(tempDir(), 'data');
  const acknowledged = await killDuringCreates(BIN, dataFile, Number(kills), seededRandom(1));
  const listed = JSON.parse(new Store(dataPaths(dataFile)).list().toString()) as { id: number; name: string }[];
  const ids = new Map(listed.map(({ name, id }) => [name, id]));
  const lost = [...acknowledged].filter(([name, id]) => ids.get(name) !== id).length;
  const twice = listed.length - new Set(listed.map(({ id }) => id)).size;
  say(`${kills} SIGKILLs during creates: ${acknowledged.size} acknowledged, ${lost} lost, ${twice} ids given twice`);
  say(`  listed but not acknowledged (killed between disk and response): ${listed.length - acknowledged.size}`);
  must(lost === 0 && twice === 0, 'no acknowledged create is lost, no id is given twice');
}
