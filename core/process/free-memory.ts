import { MessageChannel } from "node:worker_threads";

/** V8 keeps shorter blocks together, and collects them at little cost. */
export const FREED_BYTES_MIN = 65_536;

/** A port whose other end is closed: what is sent to it is gone at once. */
const { port1: nowhere, port2: otherEnd } = new MessageChannel();
otherEnd.close();

/**
 * Frees the memory of a long block at once. Every view of it is empty from then on, so nothing can read what comes there
 * later. Does nothing for a short block, or for one that shares its memory with others.
 *
 * V8 would free it with the next full collection. It starts one whenever such memory has grown by 64 MB, after some
 * hundred bodies of 512 KB, and each reads the whole heap.
 */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < FREED_BYTES_MIN || byteLength !== buffer.byteLength) return;
  if (!(buffer instanceof ArrayBuffer)) return;
  try {
    nowhere.postMessage(undefined, [buffer]);
  } catch {
    // Memory of WebAssembly or of a native library cannot be handed over. V8 frees it later.
  }
}

/** glibc gives back free memory at the end of its heap once there is twice this much. */
const BLOCK_BYTES = 16_777_216;

/**
 * Lets the process keep up to 32 MB of freed memory for the next request bodies.
 *
 * glibc takes each block above 128 KB from the kernel and gives it back when it is freed. It raises that limit to the
 * largest block that was freed, up to 32 MB, and gives back the end of its heap at twice the limit: mallopt(3),
 * `M_MMAP_THRESHOLD`. Bodies of 512 KB raise it so little that each collection of garbage gives the memory of all bodies
 * back, and the next bodies pay a page fault for every 4 KB. A block that is never written to takes no memory itself.
 * The next collection frees it.
 */
export function keepFreedMemory(): void {
  Buffer.allocUnsafeSlow(BLOCK_BYTES);
}
