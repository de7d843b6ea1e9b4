import type { ThreadWork } from "../../../../core/body/thread-work.ts";

/** Throws: an error, or one of a stack or a string that is too large. */
const throws: ThreadWork<{ isTooMuch: boolean }, never> = async ({ isTooMuch }) => {
  throw isTooMuch ? new RangeError("Invalid string length") : new Error("a bug");
};

export default throws;
