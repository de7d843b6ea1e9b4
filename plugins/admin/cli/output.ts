import type { Output } from "./command.ts";

/** Resolves once the text is on its way: a list is not fetched faster than it is read. */
export type Write = (text: string) => Promise<void>;

/**
 * Prints JSON, indented, or on one line for scripts. Prints each item of a list as it arrives, so that long lists need
 * no memory.
 */
export async function print(output: Output, isCompact: boolean, write: Write): Promise<void> {
  const indent = isCompact ? 0 : 2;
  if (output.kind === "value") {
    await write(`${JSON.stringify(output.value, null, indent)}\n`);
    return;
  }
  let isFirst = true;
  for await (const item of output.items) {
    const text = JSON.stringify(item, null, indent);
    const shown = isCompact ? text : `\n  ${text.replaceAll("\n", "\n  ")}`;
    await write(`${isFirst ? "[" : ","}${shown}`);
    isFirst = false;
  }
  await write(isFirst ? "[]\n" : isCompact ? "]\n" : "\n]\n");
}
