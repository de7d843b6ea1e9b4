import { MessageChannel } from "node:worker_threads";

/** V8 keeps shorter blocks together, and collects them at little cost. */
const FREED_BYTES_MIN = 65_536;

/** A port whose other end is closed: what is sent to it is gone at once. */
const nowhere = openNowhere();

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

function openNowhere() {
  const { port1, port2 } = new MessageChannel();
  port2.close();
  return port1;
}
