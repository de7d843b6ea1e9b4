import { join } from "node:path";
import type { Client, Surroundings, Tools } from "./client.ts";

/** The tools of `programs/task.mjs`. */
const TOOLS: Tools = {
  read: (path) => ({ name: "read", arguments: { path } }),
  replace: (path, before, after) => ({ name: "replace", arguments: { path, before, after } }),
};

/** `way`: what the program calls the protocol, if it has more ways to speak it. */
function library(
  name: string,
  program: string,
  protocol: Client["protocol"],
  packages: readonly string[],
  way: string = protocol,
): Client {
  const command = ({ node, installed, url, key, model, prompt }: Surroundings) => ({
    file: node,
    args: [join(installed, "programs", program)],
    env: { GATEWAY_URL: url, GATEWAY_KEY: key, MODEL: model, PROMPT: prompt, PROTOCOL: way },
  });
  return { name: `${name}, ${way}`, protocol, packages, tools: TOOLS, command };
}

const AI_SDK = ["ai", "@ai-sdk/openai", "@ai-sdk/openai-compatible", "@ai-sdk/anthropic", "zod"];
const LANGCHAIN = ["@langchain/openai", "@langchain/anthropic", "@langchain/core", "zod"];
const AGENTS = ["@openai/agents", "openai", "zod"];
const MASTRA = ["@mastra/core", "@ai-sdk/openai-compatible", "zod"];

/** The libraries that agents are built with; each runs a program of `programs/`. */
export const LIBRARIES: readonly Client[] = [
  library("ai sdk", "ai-sdk.mjs", "messages", AI_SDK),
  library("ai sdk", "ai-sdk.mjs", "chat", AI_SDK, "compatible"),
  library("ai sdk", "ai-sdk.mjs", "chat", AI_SDK),
  library("ai sdk", "ai-sdk.mjs", "responses", AI_SDK),
  library("LangChain", "langchain.mjs", "messages", LANGCHAIN),
  library("LangChain", "langchain.mjs", "chat", LANGCHAIN),
  library("LangChain", "langchain.mjs", "responses", LANGCHAIN),
  library("OpenAI Agents", "openai-agents.mjs", "chat", AGENTS),
  library("OpenAI Agents", "openai-agents.mjs", "responses", AGENTS),
  library("Mastra", "mastra.mjs", "chat", MASTRA),
  library("Anthropic SDK runner", "anthropic-runner.mjs", "messages", ["@anthropic-ai/sdk", "zod"]),
  library("OpenAI SDK runner", "openai-runner.mjs", "chat", ["openai", "zod"]),
];
