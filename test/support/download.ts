import { createHash } from "node:crypto";
import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

/** How a client reads: it takes `bytes`, then waits `pauseMs`, until `untilBytes` have come. */
export interface Pace {
  readonly bytes: number;
  readonly pauseMs: number;
  readonly untilBytes: number;
}

export interface Download {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: number;
  /** SHA-256 of the body. */
  readonly hash: string;
  /** The body itself, where it was asked for. */
  readonly body: Buffer;
  /** Why the reply is not whole, undefined where it is. */
  readonly error: string | undefined;
}

/** Sends a POST on a connection of its own and resolves with the head of its reply, nothing read yet. */
export async function post(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<IncomingMessage> {
  const sent = request(url, {
    method: "POST",
    agent: false,
    headers: { "content-type": "application/json", ...headers },
  });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return response;
}

/** Reads a reply to its end at a pace, then as fast as it comes. */
export async function read(
  response: IncomingMessage,
  { pace, keep = false }: { pace?: Pace; keep?: boolean } = {},
): Promise<Download> {
  const hash = createHash("sha256");
  const kept: Buffer[] = [];
  let bytes = 0;
  let sincePause = 0;
  let error: string | undefined;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      hash.update(chunk);
      if (keep) kept.push(chunk);
      bytes += chunk.length;
      sincePause += chunk.length;
      if (!pace || bytes > pace.untilBytes || sincePause < pace.bytes) continue;
      sincePause = 0;
      await delay(pace.pauseMs);
    }
  } catch (thrown) {
    error = thrown instanceof Error ? thrown.message : String(thrown);
  }
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    bytes,
    hash: hash.digest("hex"),
    body: Buffer.concat(kept),
    error,
  };
}

/** Both in one. */
export async function download(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
  options: { pace?: Pace; keep?: boolean } = {},
): Promise<Download> {
  return read(await post(url, body, headers), options);
}
