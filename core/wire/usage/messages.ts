import { arrayOf, type JsonObject, objectOf } from "../../process/json.ts";
import { type Numbers, numbersOf, tokensOf } from "./numbers.ts";
import { besideOutput, detachedImages, readReport } from "./report.ts";
import type { MainPass, Pass, Usage } from "./usage.ts";
import { readCountedUses } from "./uses.ts";

/** Passes that the numbers beside `iterations` include already. A declined one is not billed. */
const MAIN_PASSES = new Set<unknown>(["message", "fallback_message"]);

/**
 * Reads the usage of a whole reply, or of one event of a stream. The first event has the input and
 * a provisional output. Later ones are cumulative and may state only what has changed.
 */
export function readMessagesUsage(data: JsonObject, usage: Usage): void {
  const isFirst = data["type"] === "message_start";
  const report =
    objectOf(objectOf(data["message"])?.["usage"]) ??
    objectOf(data["usage"]) ??
    objectOf(objectOf(data["delta"])?.["usage"]);
  if (!report) return;
  if (hasOtherNames(report)) {
    readReport(report, usage);
    return;
  }
  readParts(report, usage, !isFirst);
}

/** Returns true if the numbers have names of other protocols. The names of this one may be present with zeros. */
function hasOtherNames(report: JsonObject): boolean {
  if (tokensOf(report["input_tokens"]) || tokensOf(report["output_tokens"])) return false;
  const { input, output } = numbersOf(report);
  return (input ?? 0) + (output ?? 0) > 0;
}

function readParts(report: JsonObject, usage: Usage, isFinal: boolean): void {
  usage.main ??= {
    freshTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    imageTokens: 0,
    outputTokens: 0,
  };
  const { main } = usage;
  const numbers = numbersOf(report);
  readCountedUses(report, usage);
  readInput(withCache(inputOf(report), numbers), main, usage);
  const { images, output: stated } = numbers;
  // The first event has the output so far, and may already have the details of the whole output.
  const beside = isFinal && stated !== undefined ? besideOutput(numbers, stated) : 0;
  const output = stated === undefined ? undefined : stated + beside;
  if (output !== undefined && (output > 0 || !usage.outputReported)) main.outputTokens = output;
  if (output !== undefined && isFinal) {
    usage.outputReported = true;
    usage.outputReports++;
  }
  if (numbers.reasoning !== undefined) {
    usage.reasoningTokens = numbers.reasoning;
    usage.reasoningReported = true;
  }
  readPasses(arrayOf(report["iterations"]), main, usage);
  if (images !== undefined && images > 0) {
    main.imageTokens = 0;
    addUp(main, usage);
    main.imageTokens = detachedImages(numbers, usage.inputTokens + usage.outputTokens);
  }
  addUp(main, usage);
  // Tokens that only the total of a compatible server shows.
  const rest = isFinal ? (numbers.total ?? 0) - usage.inputTokens - usage.outputTokens : 0;
  if (rest > 0) usage.outputTokens += rest;
}

interface Input {
  readonly fresh: number | undefined;
  readonly read: number | undefined;
  readonly write: number | undefined;
}

/** Writes to the cache may come as their sum, as parts by lifetime, or as both. */
function inputOf(report: JsonObject): Input {
  const parts = objectOf(report["cache_creation"]);
  let write = tokensOf(report["cache_creation_input_tokens"]);
  if (parts) {
    let sum = 0;
    for (const name in parts) sum += tokensOf(parts[name]) ?? 0;
    write = Math.max(write ?? 0, sum);
  }
  return {
    fresh: tokensOf(report["input_tokens"]),
    read: tokensOf(report["cache_read_input_tokens"]),
    write,
  };
}

/** A cache under the name of another protocol counts if it is larger than the input, which proves that it is beside. */
function withCache(input: Input, { cacheRead = 0 }: Numbers): Input {
  const { fresh, read } = input;
  return read === undefined && fresh !== undefined && cacheRead > fresh
    ? { ...input, read: cacheRead }
    : input;
}

/**
 * A part that is stated replaces the one before. A zero does so only if the tokens went to another
 * part: some servers fill what they do not know with zeros.
 */
function readInput({ fresh, read, write }: Input, main: MainPass, usage: Usage): void {
  if (fresh === undefined && read === undefined && write === undefined) return;
  const before = main.freshTokens + main.cacheReadTokens + main.cacheWriteTokens;
  const moved = (fresh ?? 0) + (read ?? 0) + (write ?? 0) >= before;
  const newer = (stated: number | undefined, known: number) =>
    stated === undefined || (stated === 0 && !moved) ? known : stated;
  main.freshTokens = newer(fresh, main.freshTokens);
  main.cacheReadTokens = newer(read, main.cacheReadTokens);
  main.cacheWriteTokens = newer(write, main.cacheWriteTokens);
  usage.inputReported = true;
}

/**
 * Reads the passes of a call, each of which is billed. If there are other passes than main ones,
 * the main ones among them replace the numbers beside the list.
 */
function readPasses(iterations: readonly unknown[], main: MainPass, usage: Usage): void {
  const passes: Pass[] = [];
  const mains: Pass[] = [];
  const fallbacks: Pass[] = [];
  for (const entry of iterations) {
    const iteration = objectOf(entry);
    if (!iteration) continue;
    const { type } = iteration;
    const into = !MAIN_PASSES.has(type) ? passes : type === "message" ? mains : fallbacks;
    into.push(passOf(iteration));
  }
  if (passes.length === 0) return;
  usage.passes = passes;
  usage.inputReported = true;
  // After a fallback, the passes before it were declined.
  const billed = fallbacks.length > 0 ? fallbacks : mains;
  if (billed.length === 0) return;
  main.cacheReadTokens = sum(billed, "cacheReadTokens");
  main.cacheWriteTokens = sum(billed, "cacheWriteTokens");
  main.freshTokens = sum(billed, "inputTokens") - main.cacheReadTokens - main.cacheWriteTokens;
  main.outputTokens = Math.max(main.outputTokens, sum(billed, "outputTokens"));
}

function passOf(iteration: JsonObject): Pass {
  const { fresh = 0, read = 0, write = 0 } = inputOf(iteration);
  const { model } = iteration;
  return {
    model: typeof model === "string" ? model : null,
    inputTokens: fresh + read + write,
    outputTokens: tokensOf(iteration["output_tokens"]) ?? 0,
    cacheReadTokens: read,
    cacheWriteTokens: write,
  };
}

function addUp(main: MainPass, usage: Usage): void {
  const { passes } = usage;
  usage.cacheReadTokens = main.cacheReadTokens + sum(passes, "cacheReadTokens");
  usage.cacheWriteTokens = main.cacheWriteTokens + sum(passes, "cacheWriteTokens");
  usage.inputTokens =
    main.freshTokens +
    main.cacheReadTokens +
    main.cacheWriteTokens +
    main.imageTokens +
    sum(passes, "inputTokens");
  usage.outputTokens = main.outputTokens + sum(passes, "outputTokens");
}

function sum(passes: readonly Pass[], part: Exclude<keyof Pass, "model">): number {
  return passes.reduce((total, pass) => total + pass[part], 0);
}
