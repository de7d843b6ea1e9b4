import { EventEmitter, once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { Customer } from "./admin.ts";
import type { TestGateway } from "./gateway.ts";
import type { ConfigChanges } from "./gateway-config.ts";
import type { Directive } from "./provider/directive.ts";
import { until } from "./until.ts";
import "./patient-fetch.ts";

/** A prompt that controls the simulated provider. */
export function asking(directive: Directive, prompt = "hello"): string {
  return `${prompt} [[sim ${JSON.stringify(directive)}]]`;
}

/**
 * The smallest body of each endpoint, with a directive for the simulated provider in its prompt.
 */
export const bodies = {
  messages: (directive: Directive = {}, more: object = {}) => ({
    model: "claude-opus-5-5",
    max_tokens: 4096,
    messages: [{ role: "user" as const, content: asking(directive) }],
    ...more,
  }),
  chat: (directive: Directive = {}, more: object = {}) => ({
    model: "gpt-4.1-nano",
    messages: [{ role: "user" as const, content: asking(directive) }],
    ...more,
  }),
  responses: (directive: Directive = {}, more: object = {}) => ({
    model: "gpt-4.1-nano",
    input: asking(directive),
    ...more,
  }),
  images: (directive: Directive = {}, more: object = {}) => ({
    model: "req/gpt-image-2",
    prompt: asking(directive),
    ...more,
  }),
  speech: (directive: Directive = {}, more: object = {}) => ({
    model: "req/gpt-4o-mini-tts",
    voice: "alloy",
    input: asking(directive),
    ...more,
  }),
};

export const paths = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  images: "/v1/images/generations",
  edits: "/v1/images/edits",
  speech: "/v1/audio/speech",
} as const;

/** A whole reply. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The text as JSON; undefined if it is not JSON. */
  // Untyped, because a missing field fails the assertion that reads it.
  // biome-ignore lint/suspicious/noExplicitAny: replies have many shapes
  readonly json: any;
}

export type Caller = Pick<Customer, "key"> | undefined;

/** Sends JSON, or a string as it is, with the key as a bearer token if there is a caller. */
export function post(
  gateway: Pick<TestGateway, "url">,
  path: string,
  caller: Caller,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return send(gateway, path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(caller && { authorization: `Bearer ${caller.key}` }),
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

export function get(
  gateway: Pick<TestGateway, "url">,
  path: string,
  caller: Caller,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const authorization = caller && { authorization: `Bearer ${caller.key}` };
  return send(gateway, path, { headers: { ...authorization, ...headers } });
}

export async function send(
  gateway: Pick<TestGateway, "url">,
  path: string,
  init: RequestInit,
): Promise<Answer> {
  const response = await fetch(gateway.url + path, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parsed(text) };
}

/** The `data` of every event of a stream, parsed if it is JSON. */
// biome-ignore lint/suspicious/noExplicitAny: events have many shapes
export function eventsOf(text: string): any[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => parsed(line.slice("data: ".length)) ?? line.slice("data: ".length));
}

/** The delivered text of a Messages or Chat stream. */
export function deliveredText(text: string): string {
  return eventsOf(text)
    .map((event) => event.delta?.text ?? event.choices?.[0]?.delta?.content ?? "")
    .join("");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reloads a running gateway with another config by SIGHUP; resolves when the config is in use. */
export async function reload(gateway: TestGateway, changes: ConfigChanges): Promise<void> {
  const reloads = () => gateway.logs.split('"msg":"reloaded').length;
  const before = reloads();
  gateway.configure(changes);
  gateway.signal("SIGHUP");
  await until("the gateway has reloaded its config", () => reloads() > before);
}

/** A call in flight, whose client reads in steps, or leaves. */
export interface OpenCall {
  /** Status and headers, once they have come. */
  head(): Pick<IncomingMessage, "statusCode" | "headers"> | undefined;
  /** Resolves when the text so far satisfies `isThere`; fails if the reply ends before. */
  until(isThere: (text: string) => boolean): Promise<void>;
  /** Reads to the end; returns everything received. */
  rest(): Promise<string>;
  /** Closes the connection. */
  leave(): void;
}

/** Sends a call and returns at once, before any reply arrives. */
export async function openStream(
  gateway: Pick<TestGateway, "port">,
  path: string,
  caller: Caller,
  body: object,
  more: Readonly<Record<string, string>> = {},
): Promise<OpenCall> {
  const sent = request({
    host: "127.0.0.1",
    port: gateway.port,
    path,
    method: "POST",
    agent: false,
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${caller?.key}`,
      ...more,
    },
  });
  let head: IncomingMessage | undefined;
  let text = "";
  let ended = false;
  const changes = new EventEmitter();
  const change = (over: boolean) => {
    ended ||= over;
    changes.emit("change");
  };
  sent.on("error", () => change(true));
  sent.on("response", (response) => {
    head = response;
    response.setEncoding("utf8");
    response.on("data", (more: string) => {
      text += more;
      change(false);
    });
    response.on("error", () => change(true));
    response.on("close", () => change(true));
  });
  const wait = async (isThere: () => boolean) => {
    while (!isThere()) await once(changes, "change");
  };
  await new Promise<void>((resolve) => sent.end(JSON.stringify(body), resolve));
  return {
    head: () => head,
    async until(isThere) {
      await wait(() => ended || isThere(text));
      if (!isThere(text)) throw new Error(`the reply ended early: ${text.slice(-500)}`);
    },
    async rest() {
      await wait(() => ended);
      return text;
    },
    leave: () => sent.destroy(),
  };
}
