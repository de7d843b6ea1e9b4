import { join } from "node:path";
import t from "tap";
import { mountSmallDisk } from "../chaos/small-disk.ts";
import { createCustomer, usage, wallet } from "../support/admin.ts";
import { ask, bodyOf, MESSAGES_MODEL } from "../support/ask.ts";
import { startGateway } from "../support/gateway.ts";
import { startPostgres } from "../support/postgres.ts";
import { until } from "../support/until.ts";

const OUTPUT_TOKENS = 40;
const CALLS = 5;

const disk = mountSmallDisk();

t.test(
  "streams that a full disk refused are charged by a stop that finds room, and until then nothing is sold",
  { skip: typeof disk === "string" ? disk : false },
  async (t) => {
    if (typeof disk === "string") return;
    t.teardown(() => disk.close());
    const data = join(disk.folder, "data");
    const postgres = await startPostgres();
    t.teardown(() => postgres.stop());
    const config = { stores: { ledger: postgres.url } };
    const gateway = await startGateway({ data, config, plugins: { metrics: {} } });
    t.teardown(() => gateway.close());
    const { key, accountId } = await createCustomer(gateway, { creditVnd: 1_000_000 });
    const behaviour = { input_tokens: 10, output_tokens: OUTPUT_TOKENS };
    const call = { model: MESSAGES_MODEL, stream: true, max_tokens: 1_000 };
    const body = bodyOf("/v1/messages", behaviour, call);
    const stream = async () => {
      const response = await ask(gateway.url, key, "/v1/messages", body);
      return { status: response.status, text: await response.text() };
    };
    t.equal((await stream()).status, 200);
    disk.fill();
    // The last block of the journal's file has room for some.
    let delivered = 0;
    await until("the journal cannot be written", async () => {
      const replies = await Promise.all(Array.from({ length: CALLS }, stream));
      delivered += replies.filter(({ text }) => text.includes("text_delta")).length;
      return replies.some(({ status }) => status === 503);
    });
    t.equal((await fetch(`${gateway.url}/readyz`)).status, 503);
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    t.match(metrics, /tollgate_hold_store_refuses\{.*calls="all".*\} 1\n/);
    disk.empty();
    t.equal(await gateway.stop(), 0);
    await gateway.start();
    const records = await usage(gateway, accountId);
    t.equal(records.length, 1 + delivered);
    t.match(await wallet(gateway, accountId), { held: "0", pending: "0" });
  },
);
