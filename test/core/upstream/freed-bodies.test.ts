import { createHash } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import t, { type Test } from "tap";
import { freeBodiesOf, freeOnceSent } from "../../../core/upstream/freed-bodies.ts";
import { makeCertificate } from "../../support/certificate.ts";
import { until } from "../../support/until.ts";

/** More than the buffers of both sockets take. */
const BYTES = 33_554_432;

const bodyOf = (byte: number) => {
  const body = Buffer.alloc(BYTES, Uint8Array.from([byte, 1, 2, 3, 5, 7, 11]));
  freeOnceSent(body);
  return body;
};
const sha = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

interface Pair {
  readonly client: Socket;
  /** The provider, which does not read yet. */
  readonly provider: Socket;
}

async function pairOf(t: Test, server: Server, open: (port: number) => Socket, event: string) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, event);
  const client = open((server.address() as AddressInfo).port);
  const [provider] = (await accepted) as [Socket];
  for (const socket of [client, provider]) socket.on("error", () => {});
  t.teardown(() => {
    for (const socket of [client, provider]) socket.destroy();
    server.close();
  });
  freeBodiesOf(client);
  return { client, provider };
}

const ways: Record<string, (t: Test) => Promise<Pair>> = {
  "a plain connection": (t) =>
    pairOf(t, createServer(), (port) => connect(port, "127.0.0.1"), "connection"),
  "an encrypted connection": async (t) => {
    const { key, cert: ca } = await makeCertificate(t.testdir(), "DNS:localhost");
    const server = createTlsServer({ key, cert: ca });
    const open = (port: number) =>
      connectTls({ port, host: "127.0.0.1", servername: "localhost", ca });
    return pairOf(t, server, open, "secureConnection");
  },
};

for (const [way, open] of Object.entries(ways)) {
  t.test(way, async (t) => {
    t.test("frees a body when the provider has it, and not before", async (t) => {
      const { client, provider } = await open(t);
      const body = bodyOf(1);
      client.write(body);
      // Memory that is freed too early is soon that of others.
      const others = Array.from({ length: 4 }, () => Buffer.alloc(BYTES, "x"));
      await until("the sockets are full", () => client.writableLength > 0 && others.length > 0);
      t.equal(body.length, BYTES);
      const got = createHash("sha256");
      let bytes = 0;
      provider.on("data", (chunk: Buffer) => {
        got.update(chunk);
        bytes += chunk.length;
      });
      await until("the provider has all", () => bytes === BYTES);
      t.equal(got.digest("hex"), sha(bodyOf(1)));
      await until("the body is freed", () => body.length === 0);
    });

    t.test("sends a head and bodies in one write, each whole", async (t) => {
      const { client, provider } = await open(t);
      const bodies = [bodyOf(2), bodyOf(3)];
      const expected = sha(Buffer.concat([Buffer.from("head"), ...bodies]));
      client.cork();
      client.write("head", "latin1");
      for (const body of bodies) client.write(body);
      client.uncork();
      const got = createHash("sha256");
      let bytes = 0;
      provider.on("data", (chunk: Buffer) => {
        got.update(chunk);
        bytes += chunk.length;
      });
      await until("the provider has all", () => bytes === 4 + 2 * BYTES);
      t.equal(got.digest("hex"), expected);
      await until("both are freed", () => bodies.every(({ length }) => length === 0));
    });

    t.test("frees a body whose write fails, and none that others may read", async (t) => {
      const { client, provider } = await open(t);
      const shared = Buffer.alloc(100_000, "s");
      client.write(shared);
      const body = bodyOf(4);
      client.write(body);
      await until("the sockets are full", () => client.writableLength > 0);
      t.equal(body.length, BYTES);
      provider.destroy();
      await until("the body is freed", () => body.length === 0);
      t.equal(shared.length, 100_000);
    });
  });
}
