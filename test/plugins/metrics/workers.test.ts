import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import t from "tap";
import { createCustomer } from "../../support/admin.ts";
import { bodyOf } from "../../support/ask.ts";
import { startProduction } from "../../support/production.ts";
import { until } from "../../support/until.ts";

const PATH = "/v1/messages";
const CALLS = 12;
const WORKERS = 3;
const SCRAPE_MS = 5_000;

t.test("GET /metrics of a gateway with workers", async (t) => {
  const production = await startProduction(
    { config: { listen: { workers: WORKERS } } },
    { gateways: 1 },
  );
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

  t.test("has none rather than those of one worker if the supervisor is stuck", async (t) => {
    process.kill(gateway().pid!, "SIGSTOP");
    const signal = AbortSignal.timeout(SCRAPE_MS);
    const scraped = fetch(`${gateway().url}/metrics`, { signal });
    t.equal((await scraped.finally(() => process.kill(gateway().pid!, "SIGCONT"))).status, 503);
    await until("they are back", async () => callsIn(await scrape()) === CALLS);
  });

  t.test("keeps the counts of one that is killed, and of the one in its place", async (t) => {
    t.equal(callsIn(await scrape()), CALLS);
    const before = childrenOf(gateway().pid);
    for (const killed of [0, 1, 2]) {
      // Twice one that took another's place: the counts of both lives stay.
      const worker = killed === 2 ? childrenOf(gateway().pid).at(-1) : before[killed];
      process.kill(worker!, "SIGKILL");
      const counted = new Set<number>();
      await until("another one reports", async () => {
        // A connection that the dead one got is cut.
        const text = await scrape().catch(() => undefined);
        if (text === undefined) return false;
        counted.add(callsIn(text)).add(sumOf(text, "tollgate_call_duration_seconds_count"));
        const now = childrenOf(gateway().pid);
        const isBack = now.length === WORKERS && !now.includes(worker!);
        return isBack && sumOf(text, "tollgate_silent_workers") === 0;
      });
      t.strictSame([...counted], [CALLS]);
    }
  });
});

function childrenOf(pid: number | undefined): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return text.split(" ").filter(Boolean).map(Number);
}
