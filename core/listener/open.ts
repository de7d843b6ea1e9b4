import type { Log } from "../process/log.ts";
import type { EngineName, Listener } from "./listener.ts";
import { openNative } from "./native.ts";
import { openNode } from "./node.ts";

interface ListenerOptions {
  /** `auto`, the default: the native engine if it can be loaded. */
  readonly engine?: EngineName | "auto";
  /** Limit for the head of a request, in bytes. */
  readonly headerBytesMax: number;
  /** Several processes listen on one port. Default: false. */
  readonly shared?: boolean;
  /** Gets one line if the native engine cannot be loaded. */
  readonly log?: Log;
}

/** Opens the HTTP listener of this machine. Rejects if the engine that the config names cannot be loaded. */
export async function openListener({
  engine = "auto",
  headerBytesMax,
  shared = false,
  log,
}: ListenerOptions): Promise<Listener> {
  if (engine === "node") return openNode(headerBytesMax, shared);
  try {
    return await openNative(headerBytesMax);
  } catch (error) {
    if (engine === "native") throw cannotLoad(error);
    log?.warn({ reason: reasonOf(error), node: process.version }, FALLBACK);
    return openNode(headerBytesMax, shared);
  }
}

const FALLBACK =
  "uWebSockets.js cannot be loaded here, so node:http serves, which takes a third more processor time a call. " +
  "For the native listener, run Node 20 or 22 on glibc, such as with `npx -p node@22 npm start`; " +
  "listen.engine: node hides this line";

function cannotLoad(error: unknown): Error {
  const reason = reasonOf(error);
  return new Error(
    `listen.engine: uWebSockets.js cannot be loaded with ${process.version} (${reason}); ` +
      "run Node 20 or 22 on glibc, or set auto or node",
  );
}

/** Returns the first line: the rest is a stack of required files. */
function reasonOf(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split("\n", 1)[0] ?? "";
}
