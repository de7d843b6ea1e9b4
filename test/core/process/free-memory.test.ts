import t from "tap";
import { freeMemory } from "../../../core/process/free-memory.ts";
import { until } from "../../support/until.ts";

const MB = 1_048_576;

t.test("a long block is freed though it is still in use, and its views are empty", async (t) => {
  const blocks = Array.from({ length: 20 }, () => Buffer.alloc(4 * MB, "a"));
  const views = blocks.map((block) => block.subarray(1, 2));
  const taken = process.memoryUsage().arrayBuffers;
  for (const block of blocks) freeMemory(block);
  // A process that has just started keeps them for some turns, until the other end of the port has closed.
  await until("the memory is free", () => process.memoryUsage().arrayBuffers <= taken - 80 * MB);
  for (const view of [...blocks, ...views]) t.equal(view.length, 0);
  for (const block of blocks) freeMemory(block);
});

t.test("what others may read is left alone", async (t) => {
  const short = Buffer.alloc(1_000, "a");
  const part = Buffer.alloc(MB, "a").subarray(1);
  const shared = new Uint8Array(new SharedArrayBuffer(MB)).fill(97);
  for (const bytes of [short, part, shared]) {
    const { length } = bytes;
    freeMemory(bytes);
    t.equal(bytes.length, length);
    t.equal(bytes[0], 97);
  }
});
