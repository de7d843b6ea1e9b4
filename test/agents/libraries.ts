import { join } from "node:path";
import type { Client, Surroundings, Tools } from "./client.ts";

/** The tools of `programs/task.mjs`. */
const TOOLS: Tools = {
  read: (path) => ({ name: "read", arguments: { path } }),
  replace: (path, before, after) => ({ name: "replace", arguments: { path, before, after } }),
};

function library(
  name: string,
  program: string,
  protocol: Client["protocol"],
  packages: readonly string[],
): Client {
  const command = ({ node, installed, url, key, model, prompt }: Surroundings) => ({
    file: node,
    args: [join(installed, "programs", program)],
    env: { GATEWAY_URL: url, GATEWAY_KEY: key, MODEL: model, PROMPT: prompt, PROTOCOL: protocol },
  });
  return { name: `${name}, ${protocol}`, protocol, packages, tools: TOOLS, command };
}

const AI_SDK = ["ai", "@ai-sdk/openai-compatible", "@ai-sdk/anthropic", "zod"];
const LANGCHAIN = ["@langchain/openai", "@langchain/core", "zod"];
const AGENTS = ["@openai/agents", "openai", "zod"];

/** The libraries that agents are built with; each runs a program of `programs/`. */
export const LIBRARIES: readonly Client[] = [
  library("ai sdk", "ai-sdk.mjs", "messages", AI_SDK),
  library("ai sdk", "ai-sdk.mjs", "chat", AI_SDK),
  library("LangChain", "langchain.mjs", "chat", LANGCHAIN),
  library("OpenAI Agents", "openai-agents.mjs", "chat", AGENTS),
  library("OpenAI Agents", "openai-agents.mjs", "responses", AGENTS),
];
