import { openListener } from "../../../core/plugin/index.ts";
import { chat } from "./chat.ts";
import { serveControl } from "./control.ts";
import { embeddings } from "./embeddings.ts";
import { imageEdits, imageGenerations } from "./images.ts";
import { LiveCall } from "./live-call.ts";
import { messages } from "./messages.ts";
import { withOddReplies } from "./odd-replies.ts";
import type { Protocol } from "./protocol.ts";
import { readBody, readHead } from "./read-request.ts";
import { Releases } from "./releases.ts";
import { type Judge, Responder } from "./respond.ts";
import { responses } from "./responses.ts";
import { speech } from "./speech.ts";
import { Failures, Tally } from "./tally.ts";

/** The same as the gateway's own limit. */
const headerBytesMax = 65_536;

/** Options of a simulator. */
export interface SimulatorOptions {
  readonly host: string;
  readonly port: number;
  /** Refuses what the provider of a known model refuses. */
  readonly judge?: Judge | undefined;
}

/** A running simulator. */
export interface Simulator {
  /** The port it listens on. If 0 was requested, the assigned port. */
  readonly port: number;
  /** Stops listening and destroys open connections. */
  close(): void;
}

const protocols: readonly Protocol[] = [
  messages,
  chat,
  responses,
  imageGenerations,
  imageEdits,
  speech,
  embeddings,
].map(withOddReplies);

/**
 * Starts a simulated provider in this thread. `directive.ts` lists its behaviours. Rejects with a
 * message for the user if it cannot listen on the address.
 */
export async function startSimulator({ host, port, judge }: SimulatorOptions): Promise<Simulator> {
  const listener = await openListener({ headerBytesMax });
  const failures = new Failures();
  const releases = new Releases();
  const tallies: Record<string, Tally> = {};
  for (const protocol of protocols) {
    const tally = new Tally();
    tallies[protocol.path] = tally;
    const responder = new Responder(protocol, failures, judge);
    listener.post(protocol.path, (res, req) => {
      const call = new LiveCall(res, tally, releases);
      const head = readHead(req);
      readBody(res, call, (body) => responder.respond(call, head, body));
    });
  }
  serveControl(listener, tallies, failures, releases);
  try {
    return { port: await listener.listen(host, port), close: () => listener.close() };
  } catch {
    throw new Error(`The simulator cannot listen on ${host}:${port}: the port is in use.`);
  }
}
