// An agent of Mastra, with a model of the ai SDK on Chat.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { instructions, key, model, prompt, read, replace, url } from "./task.mjs";

const provider = createOpenAICompatible({ name: "gateway", baseURL: `${url}/v1`, apiKey: key });
const path = z.string();
const agent = new Agent({
  id: "worker",
  name: "worker",
  instructions,
  model: provider(model),
  tools: {
    read: createTool({
      id: "read",
      description: "Reads a file.",
      inputSchema: z.object({ path }),
      execute: (given) => read((given.context ?? given).path),
    }),
    replace: createTool({
      id: "replace",
      description: "Replaces a text in a file.",
      inputSchema: z.object({ path, before: z.string(), after: z.string() }),
      execute: (given) => {
        const { path, before, after } = given.context ?? given;
        return replace(path, before, after);
      },
    }),
  },
});
const result = await agent.generate(prompt, { maxSteps: 8 });
console.log(result.text);
