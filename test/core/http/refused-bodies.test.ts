import { setImmediate as turnOver } from "node:timers/promises";
import t, { type Test } from "tap";
import type { Plugin } from "../../../core/plugin/plugin.ts";
import { refuse } from "../../../core/wire/refusal.ts";
import { hasNativeEngine } from "../../support/native-engine.ts";
import { RawClient, rawPost } from "../../support/raw-client.ts";
import { startServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const ENGINES = hasNativeEngine ? (["native", "node"] as const) : (["node"] as const);
const PATH = "/v1/chat/completions";
const BODY_BYTES = 10;
const PIECE_MS = 300;
/** Longer than a refused call waits for more of its body. */
const LONG_TURN_MS = 1_500;

const strict: Plugin = {
  name: "strict",
  admit: ({ headers }) =>
    headers["x-api-key"] === "wrong" ? refuse.unauthenticated("This key is not valid.") : undefined,
};

const NO_UPSTREAM = (): never => {
  throw new Error("a refused call reached the upstream");
};

const pause = () => new Promise((resolve) => setTimeout(resolve, PIECE_MS));

for (const engine of ENGINES) {
  t.test(
    `a request that is refused before its body comes, on ${engine}`,
    { jobs: 8 },
    async (t) => {
      const server = await startServer([strict], NO_UPSTREAM, undefined, engine);
      t.teardown(() => server.close());

      /** Sends the head of a request whose body has a known length. */
      async function begin(t: Test, path: string): Promise<RawClient> {
        const client = await RawClient.open(server.port);
        t.teardown(() => client.destroy());
        await client.send(rawPost(path, "wrong", "", { "content-length": String(BODY_BYTES) }));
        return client;
      }

      for (const [what, path, status] of [
        ["for its key", PATH, 401],
        ["for its address", "/v1/nothing", 404],
      ] as const) {
        t.test(`${what} leaves no connection that is never cut`, async (t) => {
          const client = await begin(t, path);
          await pause();
          await client.send(Buffer.alloc(BODY_BYTES, 32));
          t.equal((await client.response()).status, status);
          await client.closed;
        });

        t.test(`${what} leaves its connection usable if its body goes on`, async (t) => {
          await until("a slow body is read to its end", async () => {
            const client = await begin(t, path);
            for (let n = 0; n < BODY_BYTES; n++) {
              await pause();
              await client.send(" ");
            }
            const { headers } = await client.response();
            client.destroy();
            return headers["connection"] !== "close";
          });
        });

        t.test(
          `${what} leaves its connection usable if its body came in a long turn`,
          async (t) => {
            await until("a body that lies in the socket is read", async () => {
              const client = await begin(t, path);
              await pause();
              // The next turn of the event loop then begins with the timers, before it reads.
              await turnOver();
              const sent = client.send(Buffer.alloc(BODY_BYTES, 32));
              const endMs = performance.now() + LONG_TURN_MS;
              while (performance.now() < endMs);
              await sent;
              const { headers } = await client.response();
              client.destroy();
              return headers["connection"] !== "close";
            });
          },
        );

        t.test(`${what} gets its reply and is cut if its body stops`, async (t) => {
          const client = await begin(t, path);
          await client.send(" ");
          t.match(await client.response(), { status, whole: true });
          await client.closed;
        });
      }
    },
  );
}
