import type { Socket } from "node:net";

/**
 * Keeps the end of a connection from undici while the reply on it is paused. undici would end the reply there: a whole
 * one fails, and if it says `connection: close`, undici throws outside of any call, which ends the process. Its version
 * 8 has a fix, and needs Node 22.
 *
 * undici pauses by putting back what it has not parsed, and goes on by reading.
 */
export function holdEnd(socket: Socket): void {
  const { push, read, unshift } = socket;
  let isPaused = false;
  let isHeld = false;
  const release = () => {
    if (isPaused || !isHeld) return;
    isHeld = false;
    // As Node itself does at the end: reading nothing emits it.
    push.call(socket, null);
    read.call(socket, 0);
  };
  socket.unshift = (...given) => {
    isPaused = true;
    return unshift.apply(socket, given);
  };
  socket.read = (size?: number) => {
    if (size !== undefined) return read.call(socket, size);
    isPaused = false;
    if (isHeld) process.nextTick(release);
    return read.call(socket);
  };
  socket.push = (...given) => {
    if (given[0] !== null || !isPaused) return push.apply(socket, given);
    isHeld = true;
    return false;
  };
}
