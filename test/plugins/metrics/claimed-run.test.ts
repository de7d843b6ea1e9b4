import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { connect } from "../../../core/database/client.ts";
import { databaseOf } from "../../../core/database/migrate.ts";
import type { Services } from "../../../core/plugin/index.ts";
import { ClaimedRun } from "../../../plugins/metrics/claimed-run.ts";
import { recordedLog } from "../../support/log.ts";
import { migrateAll } from "../../support/migrations.ts";
import { startPostgres } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";

const PROCESSES = 20;

t.test("work that one process does for all", async (t) => {
  const { log } = recordedLog();
  const postgres = await startPostgres();
  const sql = connect({
    server: { url: postgres.url },
    connectionsMax: 4,
    statementTimeoutMs: 30_000,
    log,
  });
  await migrateAll(sql);
  const services = { log, database: databaseOf(sql) } as unknown as Services;
  t.teardown(async () => {
    await sql.end(1);
    await postgres.stop();
  });
  const isDue = () => sql.query("update claimed_runs set due_at = now(), finished_at = null");
  const processesOf = <Result>(run: () => Promise<Result | undefined>) => {
    const options = { services, name: "ages", everySeconds: 1, deadAfterSeconds: 60, failure: "" };
    const made = Array.from({ length: PROCESSES }, () => new ClaimedRun({ ...options, run }));
    for (const each of made) each.start();
    return made;
  };

  await t.test("is done once, and read by the others, however many there are", async (t) => {
    await isDue();
    let runs = 0;
    const processes = processesOf(async () => {
      runs += 1;
      await delay(50);
      return { holds: 7 };
    });
    await until("all have the result", () =>
      processes.every(({ last }) => last?.result.holds === 7),
    );
    const [first] = processes;
    const began = first?.last?.atMs ?? 0;
    const before = { runs, ms: performance.now() };
    await until("it is done again", () => (first?.last?.atMs ?? 0) > began);
    const periods = (performance.now() - before.ms) / 900;
    t.ok(runs - before.runs <= periods + 1, `${runs - before.runs} runs in ${periods} periods`);
    await Promise.all(processes.map((each) => each.stop()));
  });

  await t.test("is done by the next one if a run fails, or its process stops", async (t) => {
    await isDue();
    let runs = 0;
    const processes = processesOf(async () => {
      runs += 1;
      if (runs === 1) throw new Error("away");
      return runs === 2 ? undefined : { runs };
    });
    await until("one has a result", () => processes.some(({ last }) => last?.result.runs === 3));
    t.ok(runs >= 3);
    await Promise.all(processes.map((each) => each.stop()));
  });

  await t.test("is not done twice at once, unless its process seems dead", async (t) => {
    await isDue();
    let runs = 0;
    let end = (_: object) => {};
    const running = new Promise<object>((resolve) => {
      end = resolve;
    });
    const processes = processesOf(() => {
      runs += 1;
      return running;
    });
    await until("one runs", () => runs === 1);
    await sql.query("update claimed_runs set due_at = now() + interval '70 seconds'");
    await delay(1_500);
    t.equal(runs, 1);
    await sql.query("update claimed_runs set due_at = now()");
    await until("another one runs", () => runs === 2);
    await sql.query("update claimed_runs set due_at = now() + interval '1 day'");
    await until("the clock of the database was set back", () => runs === 3);
    end({});
    await Promise.all(processes.map((each) => each.stop()));
  });
});
