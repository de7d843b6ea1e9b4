import type { ThreadWork } from "../../../../core/body/thread-work.ts";

/** Takes memory until there is none left. */
const grow: ThreadWork<unknown, never> = async () => {
  const kept: object[] = [];
  for (;;) kept.push({ at: kept.length });
};

export default grow;
