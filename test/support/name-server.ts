import { createSocket } from "node:dgram";
import { once } from "node:events";

/** A name server on this machine. */
export interface NameServer {
  /** Its address and port, as a config names it. */
  readonly address: string;
  /** The names that were asked for, each once for each kind of address. */
  readonly asked: readonly string[];
  close(): void;
}

const HEAD_BYTES = 12;
const IPV4 = 1;

/** Starts a name server that knows the IPv4 addresses of some names. For other names it is silent. */
export async function startNameServer(
  names: Readonly<Record<string, string>> = {},
): Promise<NameServer> {
  const asked: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (query, { port, address }) => {
    const labels: string[] = [];
    let at = HEAD_BYTES;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString("latin1", at + 1, at + 1 + length));
      at += 1 + length;
    }
    const name = labels.join(".").toLowerCase();
    asked.push(name);
    const known = names[name];
    if (known === undefined) return;
    const question = query.subarray(HEAD_BYTES, at + 5);
    const hasAnswer = query.readUInt16BE(at + 1) === IPV4;
    const head = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0]);
    head[7] = hasAnswer ? 1 : 0;
    // A pointer to the name, type A, class IN, 60 s, four bytes.
    const answer = [
      0xc0,
      HEAD_BYTES,
      0,
      IPV4,
      0,
      1,
      0,
      0,
      0,
      60,
      0,
      4,
      ...known.split(".").map(Number),
    ];
    socket.send(
      Buffer.concat([head, question, Buffer.from(hasAnswer ? answer : [])]),
      port,
      address,
    );
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    close: () => void socket.close(),
  };
}
