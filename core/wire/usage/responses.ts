import { type JsonObject, objectOf } from "../../process/json.ts";
import { numbersOf } from "./numbers.ts";
import { readReport } from "./report.ts";
import type { Pass, Usage } from "./usage.ts";
import { readUsedItems } from "./uses.ts";

/**
 * Reads the usage of a whole response. The usage of its tools is beside it, and billed too: making
 * an image has tokens of its own.
 */
export function readResponsesUsage(response: JsonObject, usage: Usage): void {
  const report = objectOf(response["usage"]);
  if (report) readReport(report, usage);
  readUsedItems(response["output"], usage);
  const tools = objectOf(response["tool_usage"]);
  const passes: Pass[] = [];
  for (const name in tools) {
    const { input = 0, output = 0 } = numbersOf(objectOf(tools[name]) ?? {});
    if (input + output === 0) continue;
    passes.push({ ...OF_THE_SAME_MODEL, inputTokens: input, outputTokens: output });
    usage.inputTokens += input;
    usage.outputTokens += output;
  }
  if (passes.length > 0) usage.passes = passes;
}

const OF_THE_SAME_MODEL = { model: null, cacheReadTokens: 0, cacheWriteTokens: 0 };
