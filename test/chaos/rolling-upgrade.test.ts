import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { arrayOf, objectOf, parseJson } from "../../core/process/json.ts";
import { packageRoot } from "../../core/process/root.ts";
import { admin, committedWallet } from "../support/admin.ts";
import { makeNextVersion } from "../support/next-version.ts";
import { assertCharged, callMicroVnd, knownCustomer, untilServed } from "../support/outage.ts";
import { startPostgres } from "../support/postgres.ts";
import { startPostgresServer } from "../support/postgres-server.ts";
import { startProduction } from "../support/production.ts";
import { assertReconciled, runAdmin } from "../support/proof.ts";
import { until } from "../support/until.ts";
import { noWayBack, thisAndNext } from "./builds.ts";
import { chaosUntil, type Run } from "./chaos-process.ts";

const CALLS = 6;
const MIGRATIONS = "core/database/migrations";
/** Faults after which the other build starts soon. */
const FAULTS = [
  ...["upgrade a gateway", "roll a gateway back", "cut a connection"],
  "kill a gateway whose posts wait for postgres, and roll it back",
];

t.test("this version and the next one share Redis and Postgres", { jobs: 16 }, async (t) => {
  t.test("under load, upgraded and rolled back among faults, without a violation", async (t) => {
    const isRolled = ({ output }: Run) =>
      /\| — upgrade a gateway \| [1-9]/.test(output) &&
      /\| — (?:roll a gateway back|kill a gateway whose posts wait[^|]*) \| [1-9]/.test(output) &&
      Number(/received whole \| (\d+)/.exec(output)?.[1]) > 10;
    const args = ["--next", "--only", FAULTS.join(";")];
    const run = await chaosUntil(packageRoot, args, (run) => run.code !== 0 || isRolled(run));
    t.equal(run.code, 0, run.report);
    t.ok(isRolled(run), run.report);
  });

  t.test("and charges that only the next one can read are committed by it later", async (t) => {
    const next = makeNextVersion();
    const postgres = await startPostgresServer();
    const production = await startProduction({}, { postgres });
    t.teardown(async () => {
      postgres.signal("SIGCONT");
      await production.close();
      await next.remove();
    });
    const [older, upgraded] = production.gateways;
    if (!older || !upgraded) throw new Error("two gateways are needed");
    const customer = await knownCustomer(production.gateways);
    await upgraded.stop();
    upgraded.runFrom(next.root);
    await upgraded.start();
    await untilServed(upgraded, customer);
    await committedWallet(upgraded, customer.accountId);

    // The upgraded gateway dies with charges in Redis, and only the older one is left to commit them.
    postgres.signal("SIGSTOP");
    for (let turn = 0; turn < CALLS; turn++) {
      await untilServed(upgraded, customer);
    }
    await upgraded.kill9();
    postgres.signal("SIGCONT");
    const waiting = async () => {
      const { body } = await admin(older, "GET", "/quarantine");
      return arrayOf(body["list"]).map((row) => String(objectOf(row)?.["reason"]));
    };
    await until("they are in quarantine", async () => (await waiting()).length === CALLS);
    t.match((await waiting())[0], /of version 2.*reads versions up to 1/);
    await untilServed(older, customer);
    t.equal((await runAdmin(older, "quarantine", "retry-all")).code, 1);

    await upgraded.start();
    const { code, output } = await runAdmin(upgraded, "quarantine", "retry-all");
    t.equal(code, 0, output);
    t.match(parseJson(output), { settled: CALLS, still_refused: 0 });
    const calls = production.gateways.length + 1 + CALLS + 1;
    await assertCharged(older, customer, { microVnd: callMicroVnd(0) * BigInt(calls), calls });
    for (const gateway of production.gateways) await assertReconciled(gateway);
  });

  t.test("and an older one does not start if a migration does not work with it", async (t) => {
    const postgres = await startPostgres();
    const builds = thisAndNext();
    t.teardown(async () => {
      await builds.newer.remove();
      await postgres.stop();
    });
    const folder = join(builds.newer.root, MIGRATIONS);
    const last = readdirSync(folder)
      .filter((name) => name.endsWith(".sql"))
      .sort()
      .at(-1);
    const file = join(folder, last ?? "");
    writeFileSync(file, readFileSync(file, "utf8").replace(/^-- works with.*\n/, ""));
    const why = await noWayBack(builds, postgres.url);
    t.match(why, `has applied ${last} of a later version`);
  });
});
