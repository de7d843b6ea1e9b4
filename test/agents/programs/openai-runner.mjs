// The tool runner of OpenAI's own SDK, streamed.
import OpenAI from "openai";
import { zodFunction } from "openai/helpers/zod";
import { z } from "zod";
import { instructions, key, model, prompt, read, replace, url } from "./task.mjs";

const path = z.string();
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
const runner = client.chat.completions.runTools({
  model,
  stream: true,
  messages: [
    { role: "system", content: instructions },
    { role: "user", content: prompt },
  ],
  tools: [
    zodFunction({
      name: "read",
      description: "Reads a file.",
      parameters: z.object({ path }),
      function: (given) => read(given.path),
    }),
    zodFunction({
      name: "replace",
      description: "Replaces a text in a file.",
      parameters: z.object({ path, before: z.string(), after: z.string() }),
      function: (given) => replace(given.path, given.before, given.after),
    }),
  ],
});
console.log(await runner.finalContent());
