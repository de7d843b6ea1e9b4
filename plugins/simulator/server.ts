import { App, us_socket_local_port } from "uWebSockets.js";
import { chat } from "./chat.ts";
import { serveControl } from "./control.ts";
import { imageEdits, imageGenerations } from "./images.ts";
import { LiveCall } from "./live-call.ts";
import { messages } from "./messages.ts";
import { withOddReplies } from "./odd-replies.ts";
import type { Protocol } from "./protocol.ts";
import { readBody, readHead } from "./read-request.ts";
import { Responder } from "./respond.ts";
import { responses } from "./responses.ts";
import { speech } from "./speech.ts";
import { Failures, Tally } from "./tally.ts";

/** Options of a simulator. */
export interface SimulatorOptions {
  readonly host: string;
  readonly port: number;
  /** Refuses what the provider of a known model refuses: `strict/`. */
  readonly strict: boolean;
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
].map(withOddReplies);

/**
 * Starts a simulated provider in this thread. `directive.ts` lists its behaviours. Rejects with a
 * message for the user if it cannot listen on the address.
 */
export function startSimulator({ host, port, strict }: SimulatorOptions): Promise<Simulator> {
  const app = App();
  const failures = new Failures();
  const tallies: Record<string, Tally> = {};
  for (const protocol of protocols) {
    const tally = new Tally();
    tallies[protocol.path] = tally;
    const responder = new Responder(protocol, failures, strict);
    app.post(protocol.path, (res, req) => {
      const call = new LiveCall(res, tally);
      const head = readHead(req);
      readBody(res, call, (body) => responder.respond(call, head, body));
    });
  }
  serveControl(app, tallies, failures);
  return new Promise((resolve, reject) => {
    app.listen(host, port, (socket) => {
      if (socket === false) {
        reject(new Error(`The simulator cannot listen on ${host}:${port}: the port is in use.`));
        return;
      }
      resolve({ port: us_socket_local_port(socket), close: () => app.close() });
    });
  });
}
