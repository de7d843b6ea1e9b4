// The Vercel ai SDK, streamed, on the protocol that PROTOCOL names.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { isStepCount, streamText, tool } from "ai";
import { z } from "zod";
import { instructions, key, model, prompt, read, replace, url } from "./task.mjs";

const settings = { baseURL: `${url}/v1`, apiKey: key };
const providers = {
  messages: () => createAnthropic(settings)(model),
  compatible: () =>
    createOpenAICompatible({ name: "gateway", ...settings, includeUsage: true })(model),
  chat: () => createOpenAI(settings).chat(model),
  responses: () => createOpenAI(settings)(model),
};

const path = z.string();
let failed;
const result = streamText({
  model: providers[process.env.PROTOCOL](),
  instructions,
  prompt,
  stopWhen: isStepCount(8),
  maxRetries: 0,
  maxOutputTokens: 4096,
  onError: ({ error }) => {
    failed = error;
  },
  tools: {
    read: tool({
      description: "Reads a file.",
      inputSchema: z.object({ path }),
      execute: (given) => read(given.path),
    }),
    replace: tool({
      description: "Replaces a text in a file.",
      inputSchema: z.object({ path, before: z.string(), after: z.string() }),
      execute: (given) => replace(given.path, given.before, given.after),
    }),
  },
});
await result.consumeStream();
if (failed) {
  console.error(failed.responseBody ?? failed);
  process.exit(1);
}
console.log(await result.text);
