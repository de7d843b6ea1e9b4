import type { us_listen_socket } from "uWebSockets.js";
import type { Log } from "../process/log.ts";
import { messageOf } from "../process/thrown.ts";
import {
  type EngineName,
  type Handler,
  type HttpRequest,
  type HttpResponse,
  type Listener,
  PortInUse,
} from "./listener.ts";
import { loadNative } from "./native-build.ts";
import { openNode } from "./node.ts";
import { pauseOfClients } from "./pause-of-clients.ts";

interface ListenerOptions {
  /** `auto`, the default: the native engine if it can be loaded. */
  readonly engine?: EngineName | "auto";
  /** Limit for the head of a request, in bytes. */
  readonly headerBytesMax: number;
  /** Other processes may listen on its port too. Default: false. */
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
    return await openNative(headerBytesMax, shared);
  } catch (error) {
    const reason = messageOf(error);
    if (engine === "native") throw new Error(`listen.engine: ${reason}; or set auto or node`);
    log?.warn({ reason }, FALLBACK);
    return openNode(headerBytesMax, shared);
  }
}

const FALLBACK =
  "node:http serves, at a third more processor time a call; `reason` says what the native listener needs. " +
  "listen.engine: node hides this line";

/** uWebSockets.js's `LIBUS_LISTEN_EXCLUSIVE_PORT`, which its types do not export. */
const EXCLUSIVE_PORT = 1;

/** Opens a listener on uWebSockets.js. Rejects if this Node or this system cannot load it. */
async function openNative(headerBytesMax: number, shared: boolean): Promise<Listener> {
  // uWebSockets.js reads this limit when it is loaded.
  process.env["UWS_HTTP_MAX_HEADERS_SIZE"] = String(headerBytesMax);
  const { uws, name } = await loadNative();
  const { App, us_listen_socket_close, us_socket_local_port } = uws;
  const app = App();
  let listening: us_listen_socket | undefined;
  let isStopping = false;
  let connections = 0;
  let taken = 0;
  const onConnection = (_: unknown, change: number): void => {
    connections += change;
    if (change > 0) taken++;
  };
  app.filter(onConnection);
  const closeSocket = () => {
    if (listening) us_listen_socket_close(listening);
    listening = undefined;
  };
  /** uWebSockets.js closes a connection if its client asks for that, but does not announce it in the reply. */
  const announcing = (handler: Handler) => (response: HttpResponse, request: HeadRequest) => {
    const isLast = isStopping || request.getHeader("connection").toLowerCase() === "close";
    if (isLast) announceClose(response);
    handler(response, request);
  };
  return {
    engine: "native",
    build: `native (${name})`,
    get: (path, handler) => void app.get(path, announcing(handler)),
    post: (path, handler) => void app.post(path, announcing(handler)),
    any: (path, handler) => void app.any(path, announcing(handler)),
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        const onListen = (socket: us_listen_socket | false) => {
          if (!socket) return reject(new PortInUse(host, port));
          listening = socket;
          resolve(us_socket_local_port(socket));
        };
        const listen = app.listen as ListenOn;
        if (shared) listen.call(app, host, port, onListen);
        else listen.call(app, host, port, EXCLUSIVE_PORT, onListen);
      }),
    get connections() {
      return connections;
    },
    async stopListening() {
      await pauseOfClients(() => taken);
      closeSocket();
      isStopping = true;
    },
    close: () => {
      closeSocket();
      app.close();
    },
  };
}

function announceClose(response: HttpResponse): void {
  const { writeStatus } = response;
  response.writeStatus = (line) =>
    writeStatus.call(response, line).writeHeader("connection", "close");
}

interface HeadRequest extends HttpRequest {
  /** Returns the value of a header; an empty text if there is none. */
  getHeader(lowerCaseName: string): string;
}

/** The published declaration lacks the overload with both a host and options. */
interface ListenOn {
  call(
    app: unknown,
    host: string,
    port: number,
    optionsOrCallback: number | ((socket: us_listen_socket | false) => void),
    callback?: (socket: us_listen_socket | false) => void,
  ): unknown;
}
