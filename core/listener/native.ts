import type { us_listen_socket } from "uWebSockets.js";
import { type Listener, PortInUse } from "./listener.ts";

/** uWebSockets.js's `LIBUS_LISTEN_EXCLUSIVE_PORT`, which its types do not export. */
const EXCLUSIVE_PORT = 1;

/** Opens a listener on uWebSockets.js. Rejects if this Node or this system cannot load it. */
export async function openNative(headerBytesMax: number): Promise<Listener> {
  // uWebSockets.js reads this limit when it is loaded.
  process.env["UWS_HTTP_MAX_HEADERS_SIZE"] = String(headerBytesMax);
  const { App, us_listen_socket_close, us_socket_local_port } = await import("uWebSockets.js");
  const app = App();
  let listening: us_listen_socket | undefined;
  const stopListening = () => {
    if (listening) us_listen_socket_close(listening);
    listening = undefined;
  };
  return {
    engine: "native",
    get: (path, handler) => void app.get(path, handler),
    post: (path, handler) => void app.post(path, handler),
    any: (path, handler) => void app.any(path, handler),
    listen: (host, port, shared) =>
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
    stopListening,
    close: () => {
      stopListening();
      app.close();
    },
  };
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
