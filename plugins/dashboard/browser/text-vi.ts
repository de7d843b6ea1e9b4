import type { Dictionary } from "./text-en.ts";
import { account } from "./text-vi-account.ts";
import { calls } from "./text-vi-calls.ts";

/** Everything that the pages say, in Vietnamese. */
export const text: Dictionary = { ...account, ...calls };
