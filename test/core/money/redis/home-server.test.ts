import t from "tap";
import { BucketKeys } from "../../../../core/money/redis/keys.ts";
import { epochScript, moneyScript } from "../../../../core/money/redis/scripts.ts";
import { readView } from "../../../../core/money/redis/view.ts";
import { startRedisServer } from "../../../support/redis.ts";
import { connectedClient } from "./store.ts";

const NOT_A_MEMBER = [0];

t.test("no operation on money runs on a server that its script does not name", async (t) => {
  const redis = await startRedisServer();
  const client = await connectedClient(redis.url);
  t.teardown(async () => {
    client.disconnect();
    await redis.stop();
  });
  const keys = new BucketKeys("t", 0);
  const look = await client.run(epochScript, keys.ofEpoch, ["look", "me"]);
  const { server } = readView(look);
  const run = (operation: string, named: string) => {
    const script = moneyScript("b00", named);
    return client.load(
      script,
      ["{b00}1", "{b00}2", "{b00}3", "{b00}4", "{b00}5"],
      ["me", `${operation}\0${0}\0`],
    );
  };
  const [id = "", table = "", address = "", data = ""] = server.split(" ");
  const elsewhere = `${id} ${table} 0x1 ${data}`;
  for (const operation of ["hold", "post", "load", "noop"]) {
    t.strictSame(await run(operation, server), NOT_A_MEMBER, `${operation} at home`);
    await t.rejects(run(operation, elsewhere), /NOSCRIPT/, `${operation} at another address`);
  }
  // `noop` begins the use of a server, so it compares the process and the replication id too.
  for (const other of [`0 ${table} ${address} ${data}`, `${id} ${table} ${address} 0`]) {
    await t.rejects(run("noop", other), /NOSCRIPT/);
  }
});
