import type { ThreadWork } from "../../../../core/plugin/body-threads.ts";

/** Ends its thread. */
const exit: ThreadWork<unknown, never> = async () => process.exit(0);

export default exit;
