import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";

const CORE = join(packageRoot, "core");
/** A field or a variable of a module that holds a collection which can change. */
const MADE =
  /^ {2}(?:(?:private|readonly|static) )+(\w+)(?:: [^=\n]+)?\s*=\s*new (?:Map|Set|LRUCache)\b|this\.(\w+) = new (?:Map|Set|LRUCache)\b|^(?:export )?const (\w+)(?:: [^=]+)? = new (?:Map|Set|LRUCache)(?:<.*>)?\((?:\)|\{)/gm;
const COUNTED = /\bcounted\(\s*"(\w+)"/g;
const ROW = /^\| (`[^|]+`) \|/gm;

/** Why a collection needs no metric, by file and name. */
const UNCOUNTED: Readonly<Record<string, string>> = {
  ...allOf("one entry a bucket", [
    "money/redis/audits.ts rounds",
    "money/redis/commits.ts handedOut",
    "money/redis/commits.ts byName",
    "money/redis/commits.ts outstanding",
    "money/redis/holds.ts doubts",
    "money/redis/idle-wallets.ts dueMs",
    "money/redis/outage-log.ts failedBuckets",
    "money/redis/resender.ts running",
    "money/redis/revocations.ts own",
    "money/redis/revocations.ts behind",
    "money/redis/rounds.ts buckets",
    "money/redis/store.ts memberships",
  ]),
  ...allOf("the object counts it by its other name", [
    "accounts/key-cache.ts known",
    "accounts/key-changes.ts seen",
    "money/ledger-watch.ts outdated",
    "money/ledger/writer.ts counts",
    "money/missed-movements.ts found",
    "money/recent.ts old",
    "money/recent.ts young",
    "money/redis/audits.ts seen",
    "money/redis/peers.ts known",
    "money/refused-calls.ts waiting",
  ]),
  ...allOf("a part of another one", [
    "money/embedded/replay.ts waitedFor",
    "money/late-posts.ts trying",
    "money/redis/resender.ts queues",
  ]),
  ...allOf("the config gives its size", [
    "boot/reload.ts fingerprints",
    "contract/catalogue.ts byId",
    "contract/routes/router.ts exact",
    "contract/routes/router.ts matches",
    "http/body-threads.ts threads",
    "process/worker-relay.ts members",
    "upstream/upstreams.ts byName",
  ]),
  ...allOf("it lives for one check, call or command", [
    "config/catalogue-review.ts firstIndex",
    "config/catalogue-review.ts unknown",
    "config/problem.ts byPlace",
    "http/offered-features.ts allowed",
    "wire/turns.ts callNames",
    "wire/turns.ts names",
    "wire/turns.ts roles",
    "wire/turns.ts types",
  ]),
  ...allOf("one entry a name in the code", [
    "http/write.ts statusLines",
    "process/workers.ts asked",
    "process/workers.ts makers",
    "process/workers.ts waiting",
  ]),
  "process/counted.ts all": "the list of all",
  "process/json-scan.ts NO_NAMES": "empty",
};

function allOf(why: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, why]));
}

const sources = readdirSync(CORE, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => [file, readFileSync(join(CORE, file), "utf8")] as const);

t.test(
  "each collection that lives as long as the process is counted, or has a reason",
  async (t) => {
    const made = sources.flatMap(([file, text]) =>
      Array.from(
        text.matchAll(MADE),
        ([, field, set, variable]) => `${file} ${field ?? set ?? variable}`,
      ),
    );
    const found = new Set(made);
    t.strictSame(
      [...found].filter((name) => !(name in UNCOUNTED)),
      [],
    );
    t.strictSame(
      Object.keys(UNCOUNTED).filter((name) => !found.has(name)),
      [],
      "reasons for what is gone",
    );
  },
);

t.test("the README says what bounds each counted collection", async (t) => {
  const names = sources.flatMap(([, text]) => Array.from(text.matchAll(COUNTED), ([, of]) => of));
  const rows = Array.from(
    readFileSync(join(CORE, "README.md"), "utf8").matchAll(ROW),
    ([, cell = ""]) => Array.from(cell.matchAll(/`(\w+)`/g), ([, name]) => name),
  )
    .flat()
    .filter((name) => name !== "of");
  t.strictSame(rows.sort(), [...new Set(names)].sort());
});
