import type { ThreadWork } from "../../../../core/contract/body-threads.ts";

/** Never ends. */
const spin: ThreadWork<unknown, never> = async () => {
  for (;;);
};

export default spin;
