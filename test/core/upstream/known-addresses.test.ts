import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { promisify } from "node:util";
import t from "tap";
import { KnownAddresses } from "../../../core/upstream/known-addresses.ts";

const FIRST = { address: "127.0.0.1", family: 4 };
const SECOND = { address: "127.0.0.2", family: 4 };

/** The addresses of upstreams, with a lookup that a test controls. */
function knownAddresses() {
  let nowMs = 0;
  let lookups = 0;
  let next: () => Promise<readonly LookupAddress[]> = async () => [FIRST];
  const known = new KnownAddresses({ monotonic: () => nowMs }, () => {
    lookups++;
    return next();
  });
  const lookup = promisify<string, { all: true }, readonly LookupAddress[]>(known.lookup as never);
  return {
    known,
    find: () => lookup("provider.example", { all: true }),
    later(ms: number) {
      nowMs += ms;
    },
    answer(found: () => Promise<readonly LookupAddress[]>) {
      next = found;
    },
    lookups: () => lookups,
  };
}

t.test("an upstream's address that is known needs no lookup", async (t) => {
  const { find, later, answer, lookups } = knownAddresses();
  t.strictSame(await find(), [FIRST]);
  t.strictSame(await find(), [FIRST]);
  t.equal(lookups(), 1);
  answer(async () => [SECOND]);
  later(60_000);
  t.strictSame(await find(), [SECOND], "a new one is found in time");
});

t.test("the last known address is used while name servers fail or are silent", async (t) => {
  const { find, later, answer, lookups } = knownAddresses();
  await find();
  for (const failing of [
    () => Promise.reject(new Error("no name server")),
    () => new Promise<never>(() => {}),
  ]) {
    answer(failing);
    later(3_600_000);
    t.strictSame(await Promise.all([find(), find(), find()]), [[FIRST], [FIRST], [FIRST]]);
  }
  t.equal(lookups(), 3, "connections share a lookup");
});

t.test("an upstream whose name was never found fails with the error of the lookup", async (t) => {
  const { find, answer } = knownAddresses();
  const error = Object.assign(new Error("none"), { code: "ENOTFOUND" });
  answer(() => Promise.reject(error));
  await t.rejects(find(), { code: "ENOTFOUND" });
  answer(async () => [FIRST]);
  t.strictSame(await find(), [FIRST]);
});

t.test("a connection is opened to the address", async (t) => {
  const server = createServer((socket) => socket.end());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  const { known } = knownAddresses();
  const { port } = server.address() as AddressInfo;
  for (const autoSelectFamily of [true, false]) {
    const socket = connect({ port, host: "a.example", lookup: known.lookup, autoSelectFamily });
    await once(socket, "connect");
    socket.destroy();
  }
});
