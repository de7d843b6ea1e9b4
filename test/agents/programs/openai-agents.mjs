// OpenAI Agents, streamed, on Chat or Responses as PROTOCOL says.
import {
  Agent,
  run,
  setDefaultOpenAIClient,
  setOpenAIAPI,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";
import { instructions, key, model, prompt, read, replace, url } from "./task.mjs";

setDefaultOpenAIClient(new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 }));
setOpenAIAPI(process.env.PROTOCOL === "responses" ? "responses" : "chat_completions");
setTracingDisabled(true);

const path = z.string();
const agent = new Agent({
  name: "worker",
  model,
  instructions,
  modelSettings:
    process.env.PROTOCOL === "responses"
      ? { store: false, providerData: { include: ["reasoning.encrypted_content"] } }
      : {},
  tools: [
    tool({
      name: "read",
      description: "Reads a file.",
      parameters: z.object({ path }),
      execute: (given) => read(given.path),
    }),
    tool({
      name: "replace",
      description: "Replaces a text in a file.",
      parameters: z.object({ path, before: z.string(), after: z.string() }),
      execute: (given) => replace(given.path, given.before, given.after),
    }),
  ],
});
const result = await run(agent, prompt, { stream: true });
await result.completed;
console.log(result.finalOutput);
