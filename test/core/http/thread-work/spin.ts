import type { ThreadWork } from "../../../../core/plugin/body-threads.ts";

/** Never ends. */
const spin: ThreadWork<unknown, never> = async () => {
  for (;;);
};

export default spin;
