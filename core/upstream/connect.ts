import type { LookupFunction, Socket } from "node:net";
import type { buildConnector } from "undici";
import connectorOf from "undici/lib/core/connect.js";
import { freeBodiesOf } from "./freed-bodies.ts";
import { holdEnd } from "./held-end.ts";

const RESET = "ECONNRESET";

/**
 * Opens connections to upstreams. If one is reset whose reply says `connection: close`, undici ends the reply there, and
 * throws if the reply is paused, outside of any call: one slow client would end the process. Hides the kind of the error
 * from undici until it fails the request with it.
 */
export function upstreamConnector(
  connectMs: number,
  lookup: LookupFunction,
): buildConnector.connector {
  const connect = connectorOf({ timeout: connectMs, lookup });
  return (options, callback) =>
    connect(options, (...result) => {
      const [, socket] = result;
      if (socket) {
        freeBodiesOf(socket);
        holdEnd(socket);
        // undici adds its own listeners in the callback, so this one runs first.
        socket.on("error", (error: NodeJS.ErrnoException) => hideReset(socket, error));
      }
      callback(...result);
    });
}

function hideReset(socket: Socket, error: NodeJS.ErrnoException): void {
  if (error.code !== RESET) return;
  error.code = "";
  socket.prependOnceListener("close", () => {
    error.code = RESET;
  });
}
