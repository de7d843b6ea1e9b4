import { text as shared } from "../../page-parts/browser/text-en.ts";
import { account } from "./text-en-account.ts";
import { calls } from "./text-en-calls.ts";
import { team } from "./text-en-team.ts";

/** All texts of the pages in English. */
export const text = { ...shared, ...account, ...calls, ...team };

export type Text = keyof typeof text;
/**
 * Has the keys of the English texts. The compiler finds a missing key in another language, a test
 * an extra one.
 */
export type Dictionary = Readonly<Record<Text, string>>;
