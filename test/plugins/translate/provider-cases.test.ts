import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import t from "tap";
import { isObject, type JsonObject, objectOf, parseJson } from "../../../core/process/json.ts";
import { type ServerEvent, SseReader } from "../../../core/sse/reader.ts";
import { createCustomer } from "../../support/admin.ts";
import { SHIPPED_CATALOGUE } from "../../support/catalogue.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { type CasesProvider, startCasesProvider } from "../../support/strict/cases-provider.ts";
import { assembleChat, assembleMessages } from "./assemble.ts";
import type { ClientEvent } from "./invariants.ts";
import { mismatch } from "./match.ts";

/**
 * A call that a gateway has got wrong at some time, with what must be true of it. Every request that goes out must also pass the
 * rules of its provider.
 */
interface Case {
  readonly name: string;
  /** Public reports of the fault, in this project or in others. */
  readonly reports?: readonly string[];
  readonly client: "messages" | "chat" | "responses";
  readonly headers?: Readonly<Record<string, string>>;
  readonly request?: JsonObject;
  /** The request as text, if it is no plain JSON. */
  readonly body?: string;
  /** The lines of the provider's stream, or its whole reply. Default: it says "ok". */
  readonly stream?: readonly (string | Repeated)[];
  readonly answer?: string;
  readonly content_type?: string;
  readonly packet_bytes?: number;
  /** True if the provider goes on until the gateway leaves it. */
  readonly endless?: boolean;
  /** The reply to the client. A stream is compared as a client assembles it. */
  readonly status?: number;
  readonly reply?: unknown;
  /** Text that the reply to the client has. */
  readonly got_text?: string;
  /** The request that the provider gets. */
  readonly sent?: unknown;
  readonly sent_text?: string;
  readonly path?: string;
  /** A name in the header of what was dropped; null if there must be none. */
  readonly named?: string | null;
  /** True if the call must cost something. */
  readonly charged?: boolean;
  /** True until the gateway gets it right: it runs with RIGHT_AND_WRONG=1 only. */
  readonly todo?: boolean;
}

interface Repeated {
  readonly times: number;
  readonly lines: readonly string[];
}

const PATHS = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
} as const;

const file = new URL("../../../../test/plugins/translate/provider-cases.json", import.meta.url);
const cases: readonly Case[] = JSON.parse(readFileSync(file, "utf8"));

let provider: CasesProvider;
let gateway: TestGateway;
let key = "";

t.before(async () => {
  provider = await startCasesProvider();
  gateway = await startGateway({
    simulator: provider.asSimulator,
    config: { catalogue: SHIPPED_CATALOGUE, images: { private_addresses: true } },
  });
  ({ key } = await createCustomer(gateway, { creditVnd: 10_000_000 }));
});

t.teardown(async () => {
  await gateway.close();
  await provider.stop();
});

const runsAll = process.env["RIGHT_AND_WRONG"] === "1";

for (const one of cases.filter(({ todo }) => runsAll || !todo)) {
  t.test(one.name, async () => {
    provider.reply = replyOf(one);
    provider.asks.length = 0;
    const response = await fetch(gateway.url + PATHS[one.client], {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${key}`,
        ...one.headers,
      },
      body: (one.body ?? JSON.stringify(one.request)).replaceAll(
        "http://images.test",
        provider.asSimulator.url,
      ),
    });
    const text = await response.text();
    const [ask] = provider.asks;
    assert.equal(ask?.refusal, undefined, "the provider takes the request");
    assert.equal(response.status, one.status ?? 200, text.slice(0, 500));
    const type = response.headers.get("content-type") ?? "";
    const got = type.startsWith("text/event-stream") ? assembled(one, text) : parseJson(text);
    matches(got, one.reply);
    assert.ok(text.includes(one.got_text ?? ""), text.slice(0, 500));
    if (one.sent_text !== undefined) assert.ok(ask?.text.includes(one.sent_text), ask?.text);
    if (one.sent !== undefined) matches(ask?.body, one.sent);
    if (one.path !== undefined) assert.equal(ask?.path, one.path);
    const dropped = (response.headers.get("x-svc-translate-dropped") ?? "").split(",");
    if (typeof one.named === "string") assert.ok(dropped.includes(one.named), dropped.join());
    else if (one.named === null) assert.deepEqual(dropped, [""]);
    if (one.endless) await provider.left;
    if (one.charged) assert.ok(Number(response.headers.get("x-svc-cost-vnd")) > 0);
  });
}

function replyOf(one: Case): CasesProvider["reply"] {
  const { stream, answer, packet_bytes: packetBytes, endless } = one;
  const type = one.content_type ?? (stream ? "text/event-stream" : "application/json");
  if (answer !== undefined) return { type, text: answer, packetBytes };
  if (!stream) return undefined;
  const lines = stream.flatMap((line) =>
    typeof line === "string" ? [line] : Array.from({ length: line.times }, () => line.lines).flat(),
  );
  return { type, text: lines.map(ended).join(""), packetBytes, endless };
}

/** Ends a line of a stream, unless the case ends it itself. */
function ended(line: string): string {
  if (line.endsWith("\n")) return line;
  if (line.includes("\r\n")) return `${line}\r\n\r\n`;
  return line.startsWith("event:") ? `${line}\n` : `${line}\n\n`;
}

function assembled(one: Case, text: string): unknown {
  const events: ClientEvent[] = [];
  const add = ({ data, type }: ServerEvent): void => {
    if (data === "" || type === "ping") return;
    events.push({
      ...(type !== undefined && { event: type }),
      data: data === "[DONE]" ? data : JSON.parse(data),
    });
  };
  const reader = new SseReader();
  reader.push(Buffer.from(text), add);
  reader.end(add);
  const side = { events, httpError: null };
  if (one.client === "chat") return assembleChat(side);
  if (one.client === "responses") {
    const last = objectOf(events.at(-1)?.data);
    return objectOf(last?.["response"]) ?? last;
  }
  const [start] = events.map(({ data }) => data).filter(isObject);
  const start_usage = objectOf(start?.["message"])?.["usage"];
  return { ...assembleMessages(side), start_usage };
}

function matches(actual: unknown, expected: unknown): void {
  assert.equal(mismatch(actual, expected ?? {}), undefined);
}
