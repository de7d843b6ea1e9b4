import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The bytes as received, compressed or not. */
  readonly bytes: Buffer;
  readonly text: string;
}

/** Sends one GET with `path` unchanged, and does not decompress the reply. */
export async function ask(url: string, headers: Record<string, string> = {}): Promise<Answer> {
  const [, origin = "", path = "/"] = /^(https?:\/\/[^/]+)(.*)$/.exec(url) ?? [];
  const sent = request(origin, { path, headers, agent: false });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const status = response.statusCode ?? 0;
  return { status, headers: response.headers, bytes, text: bytes.toString("utf8") };
}
