/**
 * Allocates and frees bodies, twice, and prints how many page faults the second ones took. Needs `--expose-gc`.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { keepFreedMemory } from "../../../core/process/free-memory.ts";

const BODY_BYTES = 524_288;
const BODIES = 40;

keepFreedMemory();
await collect();

await takeBodies();
const before = process.resourceUsage().minorPageFault;
await takeBodies();
console.log(process.resourceUsage().minorPageFault - before);

async function takeBodies(): Promise<void> {
  for (let body = 0; body < BODIES; body++) Buffer.allocUnsafeSlow(BODY_BYTES).fill(1);
  await collect();
}

/** Memory is freed beside the collection. The second one waits for that. */
async function collect(): Promise<void> {
  for (let round = 0; round < 2; round++) {
    globalThis.gc?.();
    await nextTurn();
  }
}
