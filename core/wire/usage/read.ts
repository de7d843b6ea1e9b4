import { arrayOf, type JsonObject, objectOf } from "../../process/json.ts";
import { readMessagesUsage } from "./messages.ts";
import { numbersOf } from "./numbers.ts";
import { readReport } from "./report.ts";
import { type Pass, Usage } from "./usage.ts";
import { readUsedItems } from "./uses.ts";

const READERS = {
  chat: readChatUsage,
  messages: readMessagesUsage,
  responses: readResponsesUsage,
} as const;

/** Reads the usage that a whole reply, or one event of a stream, reports in the words of a protocol. */
export function readUsage(protocol: keyof typeof READERS, data: JsonObject, usage: Usage): void {
  READERS[protocol](data, usage);
}

/**
 * Reads the usage of a whole response. The usage of its tools is beside it, and billed too: making an image has tokens
 * of its own.
 */
export function readResponsesUsage(response: JsonObject, usage: Usage): void {
  const report = objectOf(response["usage"]);
  if (report) readReport(report, usage);
  readUsedItems(response["output"], report, usage);
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

/** Prefix of the fields that one provider adds, such as `x_groq`. */
const VENDOR_PREFIX = "x_";

/** Reports that bridges keep as they come: of Google, Cohere and llama.cpp. */
const NATIVE_REPORTS = ["usageMetadata", "usage_metadata", "meta", "timings"];

/**
 * Reads the usage of a whole reply, or of one chunk of a stream. Most providers report it beside the choices, some
 * inside of them (Moonshot) or in a field of their own (Groq). Ollama and llama.cpp have it in the reply itself.
 */
export function readChatUsage(data: JsonObject, usage: Usage): void {
  const beside = objectOf(data["usage"]);
  if (beside && readReport(beside, usage)) return;
  if (readChoices(arrayOf(data["choices"]), usage)) return;
  for (const name in data) {
    const report = name.startsWith(VENDOR_PREFIX) && objectOf(objectOf(data[name])?.["usage"]);
    if (report && readReport(report, usage)) return;
  }
  for (const name of NATIVE_REPORTS) {
    const report = objectOf(data[name]);
    if (report && readReport(report, usage)) return;
  }
  readReport(data, usage);
}

/** Choices that each report their own usage share one input. */
function readChoices(choices: readonly unknown[], usage: Usage): boolean {
  let output = 0;
  let reports = 0;
  for (const choice of choices) {
    const { usage: own, delta, message } = objectOf(choice) ?? {};
    const report = objectOf(own) ?? objectOf((objectOf(delta) ?? objectOf(message))?.["usage"]);
    if (!report || !readReport(report, usage)) continue;
    reports++;
    const alone = new Usage();
    readReport(report, alone);
    output += alone.outputTokens;
  }
  if (reports > 1) usage.outputTokens = output;
  return reports > 0;
}
