import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { Transform, type TransformCallback } from "node:stream";

/** A proxy to another port on this machine, which tests can cut. */
export interface TcpProxy {
  readonly port: number;
  /** Ends all connections; new ones are refused until `restore`. */
  cut(): void;
  restore(): void;
  /** Sends new connections to another port; open ones stay. */
  lead(target: number): void;
  /** Delays every chunk by this much in each direction; 0 for no delay. */
  slow(delayMs: number): void;
  /** Drops the replies of the server until `restore`. Call `cut` before it: the dropped bytes are gone. */
  swallowReplies(): void;
  close(): Promise<void>;
}

export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let leadsTo = target;
  let isCut = false;
  let delayMs = 0;
  let isSwallowing = false;
  const server = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(leadsTo, "127.0.0.1");
    for (const [socket, other, swallows] of [
      [client, upstream, () => false],
      [upstream, client, () => isSwallowing],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(new Lag(() => delayMs, swallows)).pipe(other);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port is free");
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    cut,
    restore() {
      isCut = false;
      isSwallowing = false;
    },
    swallowReplies() {
      isSwallowing = true;
    },
    lead(port) {
      leadsTo = port;
    },
    slow(ms) {
      delayMs = ms;
    },
    async close() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}

/** Forwards chunks in order, each after a delay, or drops them. */
class Lag extends Transform {
  constructor(
    private readonly delayMs: () => number,
    private readonly swallows: () => boolean,
  ) {
    super();
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    const ms = this.delayMs();
    if (this.swallows()) return done();
    if (ms === 0) done(null, chunk);
    else setTimeout(done, ms, null, chunk);
  }
}
