import { account } from "./text-en-account.ts";
import { calls } from "./text-en-calls.ts";

/** Everything that the pages say, in English. */
export const text = { ...account, ...calls };
