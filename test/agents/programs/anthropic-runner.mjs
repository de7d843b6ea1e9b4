// The tool runner of Anthropic's own SDK.
import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { z } from "zod";
import { instructions, key, model, prompt, read, replace, url } from "./task.mjs";

const path = z.string();
const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });
const runner = client.beta.messages.toolRunner({
  model,
  max_tokens: 4096,
  system: instructions,
  messages: [{ role: "user", content: prompt }],
  max_iterations: 8,
  tools: [
    betaZodTool({
      name: "read",
      description: "Reads a file.",
      inputSchema: z.object({ path }),
      run: (given) => read(given.path),
    }),
    betaZodTool({
      name: "replace",
      description: "Replaces a text in a file.",
      inputSchema: z.object({ path, before: z.string(), after: z.string() }),
      run: (given) => replace(given.path, given.before, given.after),
    }),
  ],
});
const last = await runner;
console.log(last.content.map(({ text = "" }) => text).join(""));
