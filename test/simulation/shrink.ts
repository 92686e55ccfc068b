// Shrinks a failing world as long as it still fails in the same way.
import type { UserPlan } from './users.ts';
import type { WorldPlan, WorldResult } from './world.ts';
import { runWorld } from './world.ts';

const MOST_TRIALS = 200;

/** @returns the result of the smallest failing world that was found */
export async function shrink(plan: WorldPlan): Promise<WorldResult> {
  let best = await runWorld(plan);
  const wanted = kindOf(best);
  let trials = 0;
  const isSmaller = async (smaller: WorldPlan): Promise<boolean> => {
    if (trials++ >= MOST_TRIALS) return false;
    const result = await runWorld(smaller);
    if (kindOf(result) !== wanted) return false;
    best = result;
    return true;
  };
  for (let before = -1; before !== trials && trials < MOST_TRIALS; ) {
    before = trials;
    const size = JSON.stringify(best.plan, digits).length;
    await without(
      () => best.plan.faults,
      (faults) => isSmaller({ ...best.plan, faults }),
    );
    await without(
      () => best.plan.users,
      (users) => isSmaller({ ...best.plan, users }),
    );
    for (const at of best.plan.users.keys()) {
      const user = (): UserPlan => best.plan.users[at] as UserPlan;
      const withUser = (changed: Partial<UserPlan>): WorldPlan => ({
        ...best.plan,
        users: best.plan.users.map((one, number) => (number === at ? { ...one, ...changed } : one)),
      });
      await without(
        () => user().tasks,
        (tasks) => isSmaller(withUser({ tasks })),
      );
      for (const [number, task] of user().tasks.entries()) {
        if (task.kind !== 'import') continue;
        let { names } = task;
        await without(
          () => names,
          async (fewer) => {
            if (fewer.length === 0) return false;
            const tasks = user().tasks.map((one, place) => (place === number ? { ...task, names: fewer } : one));
            if (!(await isSmaller(withUser({ tasks })))) return false;
            names = fewer;
            return true;
          },
        );
      }
    }
    if (JSON.stringify(best.plan, digits).length === size) break;
  }
  return best;
}

/** Removes halves, then quarters, down to single elements. */
async function without<T>(all: () => readonly T[], isEnough: (rest: readonly T[]) => Promise<boolean>): Promise<void> {
  for (let size = Math.ceil(all().length / 2); size > 0; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < all().length; ) {
      const rest = [...all().slice(0, at), ...all().slice(at + size)];
      if (!(await isEnough(rest))) at += size;
    }
  }
}

// Two violations are of one kind if they differ in names and numbers only.
function kindOf({ violations }: WorldResult): string | undefined {
  return violations[0]?.what.replace(/"[^"]*"|\d+(?:\.\d+)?/g, '…').slice(0, 60);
}

function digits(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
