import { createHash } from "node:crypto";
import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

/** How a client reads: it takes `bytes`, then waits `pauseMs`, until it has `untilBytes`. */
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
  /** The body, if requested. */
  readonly body: Buffer;
  /** Why the reply is incomplete; undefined if it is complete. */
  readonly error: string | undefined;
}

/**
 * Sends a POST on its own connection and resolves with the head of the reply, before any body is
 * read.
 */
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

/** Reads a reply at a pace until `untilBytes`, then at full speed. */
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

/** Sends the request and reads the reply. */
export async function download(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
  options: { pace?: Pace; keep?: boolean } = {},
): Promise<Download> {
  return read(await post(url, body, headers), options);
}
