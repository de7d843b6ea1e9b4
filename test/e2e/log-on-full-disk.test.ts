import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { mountSmallDisk } from "../chaos/small-disk.ts";
import { createCustomer } from "../support/admin.ts";
import { ask, bodyOf } from "../support/ask.ts";
import { startGateway } from "../support/gateway.ts";
import { assertReconciled } from "../support/proof.ts";
import { until } from "../support/until.ts";

const PATH = "/v1/messages";

const disk = mountSmallDisk();

t.test(
  "a full disk below the log stops no call, and the log goes on once there is room",
  { skip: typeof disk === "string" ? disk : false },
  async (t) => {
    if (typeof disk === "string") return;
    t.teardown(() => disk.close());
    const log = join(disk.folder, "log");
    const gateway = await startGateway({ stdout: log, plugins: { metrics: {} } });
    t.teardown(() => gateway.close());
    const { pid } = gateway;
    const { key } = await createCustomer(gateway, { creditVnd: 1_000_000 });
    const call = async () => {
      const response = await ask(gateway.url, key, PATH, bodyOf(PATH, { output_tokens: 5 }));
      await response.text();
      return response.status;
    };
    disk.fill();
    await until("lines are lost", async () => {
      t.equal(await call(), 200);
      const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
      return /^tollgate_log_lines_lost_total [1-9]/m.test(metrics);
    });
    disk.empty();
    await until("the log says how many", async () => {
      t.equal(await call(), 200);
      return /"lines":\d+,"msg":"the log did not take these lines/.test(readFileSync(log, "utf8"));
    });
    t.equal(gateway.pid, pid);
    await assertReconciled(gateway);
  },
);
