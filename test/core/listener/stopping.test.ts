import { once } from "node:events";
import { Worker } from "node:worker_threads";
import t from "tap";
import { openListener } from "../../../core/listener/index.ts";
import { hasNativeEngine } from "../../support/native-engine.ts";
import { until } from "../../support/until.ts";
import type { Outcome } from "./clients-until-refused.ts";

const STOPS = 30;
const CLIENTS = 8;
const REPLY_MS = 10;

for (const engine of hasNativeEngine ? (["native", "node"] as const) : (["node"] as const)) {
  t.test(
    `${engine}: a listener that stops does not reset connections that its clients have opened`,
    async (t) => {
      let served = 0;
      let resets = 0;
      for (let stop = 0; stop < STOPS; stop++) {
        const listener = await openListener({ engine, headerBytesMax: 16_384 });
        let requests = 0;
        listener.any("/*", (response) => {
          requests++;
          let isGone = false;
          response.onAborted(() => {
            isGone = true;
          });
          setTimeout(() => {
            if (!isGone) response.cork(() => void response.writeStatus("200 OK").end("ok"));
          }, REPLY_MS);
        });
        const port = await listener.listen("127.0.0.1", 0);
        const workerData = { port, clients: CLIENTS };
        const clients = new Worker(new URL("./clients-until-refused.js", import.meta.url), {
          workerData,
        });
        const ended = once(clients, "message");
        await until("calls are served", () => requests > 3 * CLIENTS);
        await listener.stopListening();
        const [outcome] = (await ended) as [Outcome];
        served += outcome.served;
        resets += outcome.resets;
        listener.close();
      }
      t.ok(served > STOPS * CLIENTS);
      // Once at most: the system may pause this process between its last look and the close.
      t.ok(resets <= CLIENTS, `${resets} reset, ${served} served`);
    },
  );
}
