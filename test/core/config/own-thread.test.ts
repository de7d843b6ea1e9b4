import assert from "node:assert/strict";
import { join } from "node:path";
import t from "tap";
import { catalogueOf } from "../../../core/config/catalogue-review.ts";
import { loadConfig } from "../../../core/config/load.ts";
import { readCatalogue } from "../../../core/config/read-catalogue.ts";
import { CATALOGUE, type Files, folderOf, GATEWAY, refused, swap } from "./files.ts";

const MODELS = 600;
/** More timers than run beside the reading of a file, and far fewer than run while 600 models are checked. */
const TIMERS_MIN = 10;

function entry(n: number): string {
  return `  - id: \${PREFIX}-${n}
    price_vnd_per_mtok: 2000
    context_window: 200000
    max_output_tokens: 64000
    labels: [reasoning, streaming]
    standard: messages
    routes:
      - { upstream: main, model: provider-${n}, weight: 3 }
`;
}

const LARGE = `models:\n${Array.from({ length: MODELS }, (_, n) => entry(n)).join("")}`;
const UPSTREAMS = new Map([["main", new Set(["messages"])]]);
const ENVIRONMENT = { PREFIX: "model" };

t.test("a large catalogue is read and checked while the thread goes on with calls", async (t) => {
  const folder = await folderOf(t, { "catalogue.yaml": LARGE });
  const path = join(folder, "catalogue.yaml");
  let timers = 0;
  const timer = setInterval(() => {
    timers += 1;
  }, 1);
  const file = { path, environment: ENVIRONMENT, upstreams: UPSTREAMS };
  const read = await readCatalogue(file, true);
  clearInterval(timer);
  t.strictSame(read.problems, []);
  t.ok(timers >= TIMERS_MIN, `${timers} timers`);
  assert.ok(read.checked);
  t.equal(read.checked.entries.length, MODELS);
  const here = await readCatalogue(file, false);
  assert.ok(here.checked);
  t.strictSame(catalogueOf(read.checked), catalogueOf(here.checked), "the same as on this thread");
});

t.test("a config that is read beside calls", async (t) => {
  /** Counts the threads that begin. */
  async function threadsOf(work: () => Promise<unknown>): Promise<number> {
    let threads = 0;
    const count = () => {
      threads += 1;
    };
    process.on("worker", count);
    await work();
    process.off("worker", count);
    return threads;
  }

  t.test("leaves its thread to them, and is the same", async (t) => {
    const folder = await folderOf(t, {});
    const file = join(folder, "gateway.yaml");
    const load = (isServing: boolean) => loadConfig(file, {}, { isServing });
    const [here, beside] = [await load(false), await load(true)];
    assert.ok(here.ok && beside.ok);
    t.strictSame(beside.config.catalogue, here.config.catalogue);
    t.equal(beside.config.version, here.config.version);
    t.equal(await threadsOf(() => load(false)), 0);
    t.equal(await threadsOf(() => load(true)), 2, "one for each file");
  });

  t.test("is refused with the same lines", async (t) => {
    const files: readonly Files[] = [
      { "gateway.yaml": swap(GATEWAY, "body_mb: 20", "body_mb: many") },
      { "gateway.yaml": `${GATEWAY}limits: {}\n` },
      { "gateway.yaml": `a: [\n${GATEWAY}` },
      { "gateway.yaml": `${GATEWAY}more: *nothing\n` },
      { "gateway.yaml": `${GATEWAY}more: &more [*more]\n` },
      { "gateway.yaml": `${GATEWAY}more: ${"[".repeat(60)}${"]".repeat(60)}\n` },
      { "catalogue.yaml": CATALOGUE.replace("context_window: 200000", "context_window: wide") },
    ];
    for (const given of files) {
      const here = await refused(t, given);
      t.strictSame(await refused(t, given, {}, { isServing: true }), here);
      t.ok(here.length > 0, here.join("\n"));
    }
  });
});
