import t from "tap";
import type { Services } from "../../../core/plugin/index.ts";
import servers from "../../../plugins/servers/index.ts";
import { recordedLog } from "../../support/log.ts";

/** Runs one round of the plugin, and returns its statements and what it says of others. */
async function round(isStopping: boolean) {
  const statements: string[] = [];
  let differing: () => number | undefined = () => undefined;
  const plugin = servers({
    log: recordedLog().log,
    clock: { now: () => Date.now() },
    config: {
      listen: { host: "127.0.0.1", port: 8001 },
      catalogue: { version: "c" },
      version: "c",
      stores: { ledger: "embedded" },
    },
    database: {
      query: async (text: string) => {
        statements.push(text.trim());
        return [];
      },
    },
    status: { isStopping, schema: async () => [] },
    gauges: {
      provide: (gauge: { readonly name: string; value(): number | undefined }) => {
        if (gauge.name === "tollgate_servers_that_differ") differing = gauge.value;
      },
    },
  } as unknown as Services);
  await plugin.start?.();
  await plugin.stop?.();
  return { statements, differing: differing() };
}

t.test("a process that drains tells others of itself no more, for a whole upgrade", async (t) => {
  const serving = await round(false);
  t.ok(serving.statements.some((text) => text.startsWith("insert into servers")));
  const draining = await round(true);
  t.strictSame([...new Set(draining.statements)], ["delete from servers where id = $1"]);
  t.equal(draining.differing, 0);
});
