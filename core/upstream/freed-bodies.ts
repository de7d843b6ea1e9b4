import type { Socket } from "node:net";
import { FREED_BYTES_MIN, freeMemory } from "../process/free-memory.ts";

/** Long bodies that nothing reads after they are written to a socket. */
const readOnce = new WeakSet<object>();

/** Frees the memory of a request body when the kernel has all of it. The body must be sent once at most. */
export function freeOnceSent(body: Uint8Array): void {
  if (body.length >= FREED_BYTES_MIN) readOnce.add(body);
}

/** Frees the bodies that are written to this socket. Node reports a write, or its failure, once the kernel reads no more of it. */
export function freeBodiesOf(socket: Socket): void {
  const { write } = socket;
  socket.write = (...given: unknown[]) => {
    const [chunk] = given;
    const isFreed = given.length === 1 && chunk instanceof Uint8Array && readOnce.has(chunk);
    if (isFreed) given.push(() => freeMemory(chunk));
    return Reflect.apply(write, socket, given);
  };
}
