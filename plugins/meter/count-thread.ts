import { arrayOf, excessOf, objectOf, parseJson } from "../../core/plugin/index.ts";
import { type CountedInput, countedInput } from "./tokenize.ts";

/** The count of a request and the name of its model, if that is a string; or why there is no count. */
export type Count =
  | { readonly input: CountedInput; readonly model: string | undefined }
  | { readonly problem: string; readonly param: string | null };

/** Counts the tokens of a request, in a thread: the tokenizer takes 80 MB, and ten megabytes of text take it a second. */
export default async (_: unknown, bytes: Buffer): Promise<{ readonly result: Count }> => ({
  result: count(bytes),
});

const PROBLEMS = {
  levels: "The request body is nested too deeply.",
  values: "The request body has too many values.",
} as const;

function count(bytes: Buffer): Count {
  const excess = excessOf(bytes);
  if (excess) return { problem: PROBLEMS[excess], param: null };
  const body = objectOf(parseJson(bytes.toString()));
  if (!body) return { problem: "The request body must be a JSON object.", param: null };
  if (arrayOf(body["messages"]).length === 0) {
    return { problem: "messages: a list with at least one item is required", param: "messages" };
  }
  const { model } = body;
  return { input: countedInput(body), model: typeof model === "string" ? model : undefined };
}
