import type { ThreadWork } from "../../../../core/body/thread-work.ts";

/** Returns what it got. Waits until the shared flag is set, if there is one. */
const echo: ThreadWork<{ said: string; wait?: SharedArrayBuffer }, unknown> = async (
  { said, wait },
  bytes,
) => {
  if (wait) Atomics.wait(new Int32Array(wait), 0, 0);
  return { result: { said, bytes: bytes.length } };
};

export default echo;
