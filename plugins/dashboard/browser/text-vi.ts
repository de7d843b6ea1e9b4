import { text as shared } from "../../page-parts/browser/text-vi.ts";
import type { Dictionary } from "./text-en.ts";
import { account } from "./text-vi-account.ts";
import { calls } from "./text-vi-calls.ts";
import { team } from "./text-vi-team.ts";

/** All texts of the pages in Vietnamese. */
export const text: Dictionary = { ...shared, ...account, ...calls, ...team };
