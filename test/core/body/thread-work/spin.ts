import type { ThreadWork } from "../../../../core/body/thread-work.ts";

/** Never ends. */
const spin: ThreadWork<unknown, never> = async () => {
  for (;;);
};

export default spin;
