// LangChain's agent loop by hand, on the protocol that PROTOCOL names.
import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { instructions, key, model, prompt, read, replace, url } from "./task.mjs";

const STEPS_MAX = 8;
const path = z.string();
const tools = [
  tool((given) => read(given.path), {
    name: "read",
    description: "Reads a file.",
    schema: z.object({ path }),
  }),
  tool((given) => replace(given.path, given.before, given.after), {
    name: "replace",
    description: "Replaces a text in a file.",
    schema: z.object({ path, before: z.string(), after: z.string() }),
  }),
];
const common = { model, apiKey: key, maxRetries: 0 };
const openai = (useResponsesApi) =>
  new ChatOpenAI({ ...common, useResponsesApi, configuration: { baseURL: `${url}/v1` } });
const models = {
  messages: () => new ChatAnthropic({ ...common, maxTokens: 4096, anthropicApiUrl: url }),
  chat: () => openai(false),
  responses: () => openai(true),
};
const bound = models[process.env.PROTOCOL]().bindTools(tools);
const messages = [new SystemMessage(instructions), new HumanMessage(prompt)];
for (let step = 0; ; step++) {
  if (step === STEPS_MAX) throw new Error(`no end after ${STEPS_MAX} steps`);
  const reply = await bound.invoke(messages);
  messages.push(reply);
  if (!reply.tool_calls?.length) break;
  for (const call of reply.tool_calls) {
    const found = tools.find(({ name }) => name === call.name);
    const content = await found.invoke(call.args);
    messages.push(new ToolMessage({ content, tool_call_id: call.id }));
  }
}
