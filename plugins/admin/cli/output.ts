import type { Output } from "./command.ts";

/**
 * Prints JSON: on one line for scripts that take the last line of what npm prints, else indented. A list is
 * printed as it comes, so that its length does not matter.
 */
export async function print(output: Output, isCompact: boolean): Promise<void> {
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

function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
