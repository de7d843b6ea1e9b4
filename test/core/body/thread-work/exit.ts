import type { ThreadWork } from "../../../../core/body/thread-work.ts";

/** Ends its thread. */
const exit: ThreadWork<unknown, never> = async () => process.exit(0);

export default exit;
