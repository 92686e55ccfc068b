// The entry point of the bundled simulator.
export { planWorld, runWorld } from './world.ts';
