import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { judge } from "../strict/index.ts";
import type { Directive } from "./directive.ts";
import { type Simulator, startSimulator } from "./server.ts";

/** A simulator on a free port, with the official clients configured for it. */
export interface Bench {
  readonly simulator: Simulator;
  readonly url: string;
  readonly anthropic: Anthropic;
  readonly openai: OpenAI;
}

export async function startBench(): Promise<Bench> {
  const simulator = await startSimulator({ host: "127.0.0.1", port: 0, judge });
  const url = `http://127.0.0.1:${simulator.port}`;
  return {
    simulator,
    url,
    anthropic: new Anthropic({ baseURL: url, apiKey: "test", maxRetries: 0 }),
    openai: new OpenAI({ baseURL: `${url}/v1`, apiKey: "test", maxRetries: 0 }),
  };
}

/** A prompt that contains a marker. */
export function asking(directive: Directive, prompt = "hello"): string {
  return `${prompt} [[sim ${JSON.stringify(directive)}]]`;
}

/** A small chat request. */
export function chatBody(directive: Directive, more: object = {}): string {
  const messages = [{ role: "user", content: asking(directive) }];
  return JSON.stringify({ model: "m", messages, ...more });
}

/** Posts JSON to one of the simulator's endpoints. */
export function post(
  bench: Bench,
  path: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(bench.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
}

/** Reads the tally of one endpoint. */
export async function tally(bench: Bench, path: string): Promise<Record<string, number>> {
  const response = await fetch(`${bench.url}/_sim/stats`);
  const stats = (await response.json()) as Record<string, Record<string, number>>;
  return stats[path]!;
}
