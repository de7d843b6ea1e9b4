import { account } from "./text-en-account.ts";
import { calls } from "./text-en-calls.ts";

/** Everything that the pages say, in English. */
export const text = { ...account, ...calls };

export type Text = keyof typeof text;
/** The keys of the English text: the compiler finds what another language lacks, a test what it has too much. */
export type Dictionary = Readonly<Record<Text, string>>;
