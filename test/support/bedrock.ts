import { createHash, createHmac } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { EventStreamCodec } from "@smithy/eventstream-codec";
import { startLocalServer } from "./local-server.ts";

/** A request whose signature is right. */
export interface BedrockRequest {
  /** As it came. */
  readonly path: string;
  readonly accessKeyId: string;
  // biome-ignore lint/suspicious/noExplicitAny: a missing field fails the assertion that reads it
  readonly body: any;
}

export interface TestBedrock {
  readonly url: string;
  readonly requests: readonly BedrockRequest[];
  /** Why requests were refused for their signatures. */
  readonly refused: readonly string[];
  stop(): Promise<void>;
}

export const USED = {
  input_tokens: 20,
  cache_read_input_tokens: 10,
  cache_creation_input_tokens: 0,
  output_tokens: 10,
};
/** A request must be signed within this time. */
const SKEW_MS = 300_000;

/** The secret of an access key, and the token of its session. */
export const secretOf = (accessKeyId: string) => `secret-of-${accessKeyId}`;
export const tokenOf = (accessKeyId: string) => `token-of-${accessKeyId}`;

/**
 * Starts a fake of Amazon Bedrock, which checks signatures by AWS' own description of Signature Version 4 and streams in
 * real frames. The model's name says how it behaves: `throttles`, `throttles-in-stream`, `fails-late`, `cuts`, `corrupts`.
 */
export async function startTestBedrock(region: string): Promise<TestBedrock> {
  const requests: BedrockRequest[] = [];
  const refused: string[] = [];
  const server = await startLocalServer(async (request, response) => {
    const body = await buffer(request);
    const wrong = wrongSignature(request, body, region);
    if (wrong !== undefined) {
      refused.push(wrong);
      return refuse(response, 403, "InvalidSignatureException", "The request signature is wrong.");
    }
    const path = request.url ?? "";
    const accessKeyId = /Credential=([^/]+)/.exec(request.headers.authorization ?? "")?.[1] ?? "";
    requests.push({ path, accessKeyId, body: JSON.parse(body.toString()) });
    const [, , model = "", operation] = path.split("/").map(decodeURIComponent);
    if (model.includes("throttles") && !model.includes("in-stream")) {
      return refuse(response, 429, "ThrottlingException", "Too many requests, please wait.");
    }
    if (operation === "invoke") return send(response, 200, MESSAGE);
    await stream(response, model);
  });
  return {
    url: server.url,
    requests,
    refused,
    stop: server.stop,
  };
}

function refuse(response: ServerResponse, status: number, type: string, message: string): void {
  response.setHeader("x-amzn-errortype", `${type}:http://internal.amazon.com/coral/`);
  send(response, status, { message });
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** Returns what is wrong with the signature; undefined if it is right. */
function wrongSignature(
  { method, url = "", headers }: IncomingMessage,
  body: Buffer,
  region: string,
): string | undefined {
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/bedrock\/aws4_request, ?SignedHeaders=([\w;-]+), ?Signature=(\w+)$/;
  const found = form.exec(headers.authorization ?? "");
  if (!found) return `no signature: ${headers.authorization}`;
  const [, accessKeyId = "", day = "", signedRegion, names = "", given] = found;
  if (signedRegion !== region) return `another region: ${signedRegion}`;
  const date = String(headers["x-amz-date"]);
  const at = date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z");
  if (!(Math.abs(Date.now() - Date.parse(at)) < SKEW_MS) || !date.startsWith(day)) {
    return `another time: ${date}`;
  }
  if (headers["x-amz-security-token"] !== tokenOf(accessKeyId)) return "no token";
  const signed = names.split(";");
  for (const name of ["host", "x-amz-date", "x-amz-security-token"]) {
    if (!signed.includes(name)) return `not signed: ${name}`;
  }
  // Each part of the path is encoded once more than it is sent.
  const path = url.split("/").map(encodeURIComponent).join("/");
  const lines = signed.map((name) => `${name}:${String(headers[name]).trim()}\n`).join("");
  const canonical = [method, path, "", lines, names, sha256(body)].join("\n");
  const scope = `${day}/${region}/bedrock/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", date, scope, sha256(canonical)].join("\n");
  let key: string | Buffer = `AWS4${secretOf(accessKeyId)}`;
  for (const part of [day, region, "bedrock", "aws4_request"]) key = hmac(key, part);
  return hmac(key, text).toString("hex") === given
    ? undefined
    : `another signature of\n${canonical}`;
}

const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest("hex");
const hmac = (key: string | Buffer, data: string) =>
  createHmac("sha256", key).update(data).digest();

const MESSAGE = {
  id: "msg_bdrk_1",
  type: "message",
  role: "assistant",
  model: "claude",
  content: [{ type: "text", text: "signed and served" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: USED,
};

const METRICS = { inputTokenCount: 30, outputTokenCount: 10, invocationLatency: 7 };

const EVENTS: readonly object[] = [
  {
    type: "message_start",
    message: { ...MESSAGE, content: [], stop_reason: null, usage: { ...USED, output_tokens: 1 } },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "ping" },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "signed and " } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "served" } },
  { type: "content_block_stop", index: 0 },
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: USED.output_tokens },
  },
  { type: "message_stop", "amazon-bedrock-invocationMetrics": METRICS },
];

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes as Uint8Array).toString(),
  (text) => Buffer.from(text),
);

function frame(headers: Readonly<Record<string, string>>, payload: object): Buffer {
  const typed = Object.entries(headers).map(([name, value]) => [
    name,
    { type: "string" as const, value },
  ]);
  const body = Buffer.from(JSON.stringify(payload));
  return Buffer.from(codec.encode({ headers: Object.fromEntries(typed), body }));
}

function chunk(event: object): Buffer {
  const bytes = Buffer.from(JSON.stringify(event)).toString("base64");
  const headers = { ":event-type": "chunk", ":content-type": "application/json" };
  return frame({ ...headers, ":message-type": "event" }, { bytes, p: "abcdefgh" });
}

function exception(name: string, message: string): Buffer {
  const headers = { ":exception-type": name, ":content-type": "application/json" };
  return frame({ ...headers, ":message-type": "exception" }, { message });
}

/** Writes a stream in small packets that no frame begins or ends with. */
async function stream(response: ServerResponse, model: string): Promise<void> {
  response.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" });
  let bytes: Buffer = Buffer.concat(EVENTS.map(chunk));
  if (model.includes("throttles-in-stream")) {
    bytes = exception("throttlingException", "Too many tokens, please wait.");
  } else if (model.includes("fails-late")) {
    const late = exception("modelStreamErrorException", "The model has failed.");
    bytes = Buffer.concat([...EVENTS.slice(0, 5).map(chunk), late]);
  } else if (model.includes("cuts")) bytes = bytes.subarray(0, 60);
  else if (model.includes("corrupts")) bytes[70] = (bytes[70] ?? 0) ^ 1;
  for (let at = 0; at < bytes.length; at += 97) {
    response.write(bytes.subarray(at, at + 97));
    await new Promise(setImmediate);
  }
  response.end();
}
