import { connect, isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import { AbstractConnector, type RedisOptions } from "ioredis";

/**
 * Returns how connections to the nodes of a cluster are made. Those of ioredis (6.0.0) do not send the name of a node, which
 * a proxy before several needs, and the errors of those that read the slots are dropped.
 */
export function connectorWith(
  onFault: (error: Error) => void,
): NonNullable<RedisOptions["Connector"]> {
  return class extends AbstractConnector {
    constructor(private readonly options: unknown) {
      super(2_000);
    }

    async connect() {
      const { host = "127.0.0.1", port = 6379, tls } = this.options as RedisOptions;
      this.connecting = true;
      const name = isIP(host) === 0 ? { servername: host } : {};
      const socket = tls ? connectTls({ host, port, ...name }) : connect({ host, port });
      this.stream = socket.once("error", onFault);
      return socket;
    }
  };
}
