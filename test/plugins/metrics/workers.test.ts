import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import t from "tap";
import { createCustomer } from "../../support/admin.ts";
import { bodyOf } from "../../support/ask.ts";
import { type Production, startProduction } from "../../support/production.ts";
import { until } from "../../support/until.ts";

const PATH = "/v1/messages";
const CALLS = 12;
const WORKERS = 3;
const SCRAPE_MS = 5_000;

t.test("GET /metrics of a gateway with workers", async (t) => {
  let production: Production;
  t.before(async () => {
    production = await startProduction(
      { config: { listen: { workers: WORKERS } } },
      { gateways: 1 },
    );
  });
  t.teardown(() => production.close());
  const gateway = () => production.gateways[0]!;

  /** On a connection of its own, which any worker may get. */
  async function scrape(): Promise<string> {
    const headers = { connection: "close" };
    const signal = AbortSignal.timeout(SCRAPE_MS);
    const response = await fetch(`${gateway().url}/metrics`, { headers, signal });
    assert.equal(response.status, 200);
    return response.text();
  }
  /** The sum of the samples of a name, whose labels match. */
  function sumOf(text: string, name: string, labels = ""): number {
    const lines = text.split("\n").filter((line) => line.startsWith(name) && line.includes(labels));
    return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }
  const callsIn = (text: string) => sumOf(text, "tollgate_calls_total{", 'status="200"');

  t.test("has the calls of all of them, whichever replies", async (t) => {
    const { key } = await createCustomer(gateway(), { creditVnd: 1_000 });
    for (let at = 0; at < CALLS; at++) {
      const response = await fetch(gateway().url + PATH, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json", connection: "close" },
        body: bodyOf(PATH, { output_tokens: 1 }, { stream: at % 2 === 0 }),
      });
      assert.equal(response.status, 200);
      await response.text();
    }
    await until("all calls are counted", async () => callsIn(await scrape()) === CALLS);
    for (let at = 0; at < 2 * WORKERS; at++) {
      const text = await scrape();
      t.equal(callsIn(text), CALLS);
      t.equal(sumOf(text, "tollgate_call_duration_seconds_count"), CALLS);
      t.equal(sumOf(text, "tollgate_call_duration_seconds_bucket", 'le="+Inf"'), CALLS);
      t.equal(sumOf(text, "tollgate_silent_workers"), 0);
      t.match(text, /^tollgate_ledger_went_back 0$/m);
      for (let worker = 0; worker < WORKERS; worker++) {
        t.ok(sumOf(text, "process_resident_memory_bytes", `worker="${worker}"`) > 0);
      }
      const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
      const names = samples.map((line) => line.slice(0, line.lastIndexOf(" ")));
      t.equal(new Set(names).size, names.length, "no sample comes twice");
    }
  });

  t.test("has the last numbers of one that is stuck, and says so", async (t) => {
    const [stuck] = childrenOf(gateway().pid);
    assert.ok(stuck);
    process.kill(stuck, "SIGSTOP");
    let text = "";
    // Connections that the stuck one gets are never served.
    const isSilent = async () => {
      text = await scrape().catch(() => "");
      return sumOf(text, "tollgate_silent_workers") === 1;
    };
    await until("a worker is missing", isSilent);
    t.equal(callsIn(text), CALLS);
    process.kill(stuck, "SIGCONT");
    await until("it reports again", async () => {
      text = await scrape();
      return sumOf(text, "tollgate_silent_workers") === 0;
    });
    t.equal(callsIn(text), CALLS);
  });

  t.test("comes from those that live if one is killed", async (t) => {
    const before = childrenOf(gateway().pid);
    process.kill(before[0]!, "SIGKILL");
    await until("another one runs", async () => {
      const now = childrenOf(gateway().pid);
      return now.length === WORKERS && !now.includes(before[0]!);
    });
    await until("all report", async () => {
      const text = await scrape();
      return sumOf(text, "process_start_time_seconds", 'worker="0"') > 0;
    });
    t.ok(callsIn(await scrape()) <= CALLS);
  });
});

function childrenOf(pid: number | undefined): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return text.split(" ").filter(Boolean).map(Number);
}
