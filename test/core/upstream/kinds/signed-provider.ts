import type { ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { startLocalServer } from "../../../support/local-server.ts";
import { FRAMED_TYPE, frame } from "./frame-decoder.ts";
import { signature } from "./signing.ts";

/** A request with a valid signature. */
export interface SignedRequest {
  readonly path: string;
  readonly token: string | undefined;
  readonly contentType: string;
  readonly body: string;
}

/** How a provider treats valid requests. */
export type Behaviour =
  | "serves"
  | "fails"
  /** Streams binary frames, three bytes a write. */
  | "frames"
  /** Cuts the stream off in the middle of a frame. */
  | "cuts frames"
  /** The second frame exceeds the maximum length. */
  | "breaks frames";

export interface SignedProvider {
  readonly url: string;
  readonly requests: readonly SignedRequest[];
  /** Requests refused for their signature or token. */
  readonly refused: number;
  stop(): Promise<void>;
}

export const USED = { input_tokens: 30, output_tokens: 10 };
const TEXT = "signed and served";

/** Starts a provider that serves only requests signed with its secret. */
export async function startSignedProvider(
  secret: string,
  behaviour: Behaviour,
  token?: string,
): Promise<SignedProvider> {
  const requests: SignedRequest[] = [];
  let refused = 0;
  const server = await startLocalServer(async (request, response) => {
    const body = await buffer(request);
    const { "x-date": date, "x-signature": given, "x-token": withToken, host } = request.headers;
    const path = request.url ?? "";
    const wanted = signature(secret, host ?? "", path, String(date), body);
    if (given !== wanted || withToken !== token) {
      refused++;
      return json(response, 403, { error: { message: "the signature is wrong" } });
    }
    const contentType = request.headers["content-type"] ?? "";
    requests.push({ path, token, contentType, body: body.toString("latin1") });
    if (behaviour === "fails") return json(response, 500, { error: { message: "broken" } });
    if (contentType.startsWith("multipart/")) {
      return json(response, 200, { created: 1, data: [{ b64_json: "AA==" }] });
    }
    if (!path.endsWith("/invoke-stream")) return json(response, 200, message());
    if (behaviour === "serves") return serveEvents(response);
    await serveFrames(response, behaviour);
  });
  return {
    url: server.url,
    requests,
    get refused() {
      return refused;
    },
    stop: server.stop,
  };
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function message(): object {
  const content = [{ type: "text", text: TEXT }];
  const usage = USED;
  return { id: "m", type: "message", role: "assistant", content, stop_reason: "end_turn", usage };
}

const EVENTS = [
  {
    type: "message_start",
    message: { ...message(), content: [], stop_reason: null, usage: { ...USED, output_tokens: 1 } },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: TEXT } },
  { type: "content_block_stop", index: 0 },
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: USED.output_tokens },
  },
  { type: "message_stop" },
] as const;

function serveEvents(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of EVENTS) {
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}

async function serveFrames(response: ServerResponse, behaviour: Behaviour): Promise<void> {
  response.writeHead(200, { "content-type": FRAMED_TYPE });
  const events = behaviour === "cuts frames" ? EVENTS.slice(0, 3) : EVENTS;
  const frames = events.map(frame);
  if (behaviour === "breaks frames") frames.splice(1, 1, Buffer.alloc(4, 0xff));
  const bytes = Buffer.concat(frames);
  for (let at = 0; at < bytes.length; at += 3) {
    response.write(bytes.subarray(at, at + 3));
    await new Promise(setImmediate);
  }
  response.end();
}
