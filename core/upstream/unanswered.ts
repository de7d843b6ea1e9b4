import type { Socket } from "node:net";

/** `reused`: the connection had served a request before this one. */
export type Unanswered = "reused" | "new";

/** Errors of connections that ended before any byte of a reply to their request. */
const unanswered = new WeakMap<Error, Unanswered>();

/**
 * Notes which requests a connection leaves without any byte of a reply. A provider closes an idle connection at any time,
 * also in the moment in which the next request is sent on it.
 */
export function watchReplies(socket: Socket): void {
  const { write } = socket;
  const atFirst = socket.bytesRead;
  let beforeRequest = atFirst;
  socket.write = (...given: unknown[]) => {
    beforeRequest = socket.bytesRead;
    return Reflect.apply(write, socket, given);
  };
  socket.on("error", (error) => {
    if (socket.bytesRead !== beforeRequest) return;
    unanswered.set(error, beforeRequest === atFirst ? "new" : "reused");
  });
}

/** Returns undefined if part of a reply has come, or if there was no connection. */
export function unansweredBy(error: Error): Unanswered | undefined {
  return unanswered.get(error);
}
