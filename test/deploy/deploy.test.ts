import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { parse } from "yaml";
import { arrayOf, isObject, objectOf } from "../../core/process/json.ts";
import { packageRoot } from "../../core/process/root.ts";
import { admin, createCustomer } from "../support/admin.ts";
import { startGateway } from "../support/gateway.ts";
import { withLedger } from "../support/ledger-sql.ts";
import { bodies, paths, post } from "../support/requests.ts";
import { until } from "../support/until.ts";

const FOLDER = join(packageRoot, "config", "deploy");
const read = (file: string) => readFileSync(join(FOLDER, file), "utf8");

/** Every metric name in an expression. */
const metricsIn = (expression: string) =>
  expression.match(/\b(?:tollgate|process|nodejs)_[a-z0-9_]+/g) ?? [];

t.test("the command of the deployment", async (t) => {
  t.test("starts Node with the options of npm start", async (t) => {
    const { start } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")).scripts;
    const optionsIn = (command: string) => command.match(/--[a-z][a-z-]+(?:=\d+)?(?=[ "])/g) ?? [];
    const options = optionsIn(start);
    t.ok(options.length > 0);
    for (const [file, line] of [
      ["Dockerfile", /^ENTRYPOINT .*/m],
      ["tollgate@.service", /^ExecStart=.*/m],
    ] as const) {
      const [command = ""] = line.exec(read(file)) ?? [];
      const started = optionsIn(command).filter((option) => option !== "--config");
      t.strictSame(started, options, file);
    }
  });
});

t.test("the monitoring of the deployment", async (t) => {
  const gateway = await startGateway({ plugins: { metrics: { reconcile_seconds: 1 } } });
  t.teardown(() => gateway.close());

  const scrape = async () => (await fetch(`${gateway.url}/metrics`)).text();
  const drifting = async () => {
    return Number(/^tollgate_drifting_wallets (\d+)$/m.exec(await scrape())?.[1] ?? Number.NaN);
  };

  t.test("finds every metric of the dashboard and the alerts in /metrics", async (t) => {
    const caller = await createCustomer(gateway, { creditVnd: 1000 });
    const { status } = await post(gateway, paths.messages, caller, bodies.messages());
    t.equal(status, 200);
    t.equal((await post(gateway, paths.messages, undefined, bodies.messages())).status, 401);
    await until("the books were compared", async () => (await drifting()) === 0);
    await until("the ages were read", async () => /^tollgate_holds 0$/m.test(await scrape()));
    const text = await scrape();
    const dashboard = objectOf(JSON.parse(read("grafana-dashboard.json")));
    const targets = arrayOf(dashboard?.["panels"])
      .filter(isObject)
      .flatMap((panel) => arrayOf(panel["targets"]))
      .filter(isObject);
    const rules = arrayOf(
      objectOf(arrayOf(parse(read("prometheus-alerts.yaml")).groups)[0])?.["rules"],
    );
    const expressions = [...targets, ...rules.filter(isObject)].map(({ expr }) => String(expr));
    t.ok(expressions.length > 20);
    for (const { alert, annotations } of rules.filter(isObject)) {
      t.match(annotations, { summary: /\S/, action: /\S/ }, String(alert));
    }
    // A gauge without a value, such as that of a refusing store, is only declared.
    const missing = expressions
      .flatMap(metricsIn)
      .filter((name) => !new RegExp(`^(?:# TYPE )?${name}(?:\\{| )`, "m").test(text));
    t.strictSame(missing, []);
  });

  t.test("reports a drift, and its end", async (t) => {
    const { accountId } = await createCustomer(gateway, { creditVnd: 5 });
    const set = (amount: number) =>
      withLedger(gateway, (sql) =>
        sql.script(
          `update wallets set balance = balance + ${amount} where account_id = '${accountId}'`,
        ),
      );
    await set(1);
    await until("the drift is seen", async () => (await drifting()) === 1);
    t.match(await scrape(), /^tollgate_drift_vnd 0\.000001$/m);
    t.equal((await admin(gateway, "GET", "/reconcile")).body["drift"], true);
    await set(-1);
    await until("it is over", async () => (await drifting()) === 0);
  });
});

t.test("the files of the deployment", async (t) => {
  t.test("name only files that exist, and parse as YAML if they are YAML", async (t) => {
    const compose = parse(read("compose.yaml"), { merge: true });
    const files = new Set(readdirSync(FOLDER));
    const services = Object.values(compose.services).filter(isObject);
    const mounted = services
      .flatMap((service) => arrayOf(service["volumes"]).map(String))
      .filter((volume) => /^\.\/[\w-]+\.conf:/.test(volume))
      .map((volume) => volume.slice(2, volume.indexOf(":")));
    // `redis.conf` is generated beside these.
    t.strictSame(
      mounted.filter((file) => !files.has(file)),
      files.has("redis.conf") ? [] : ["redis.conf"],
    );
    const volumes = services.flatMap((service) => arrayOf(service["volumes"]).map(String));
    const spools = volumes.filter((volume) => volume.endsWith(":/app/data"));
    t.equal(new Set(spools).size, 2, "each gateway has its own spool");
  });

  t.test("write no core dumps, which would have every secret", async (t) => {
    t.match(read("tollgate@.service"), /^LimitCORE=0$/m);
    const { services } = parse(read("compose.yaml"), { merge: true });
    for (const name of ["gateway-1", "gateway-2"]) t.equal(services[name].ulimits.core, 0, name);
  });

  t.test("lose one worker, not the unit, if the memory ends", async (t) => {
    t.match(read("tollgate@.service"), /^OOMPolicy=continue$/m);
  });

  t.test("make the database of one encoding and order, whatever the server has", async (t) => {
    const wanted = "template template0 encoding 'UTF8' locale 'C'";
    const page = readFileSync(join(packageRoot, "config", "operating", "backup.md"), "utf8");
    for (const text of [read("postgres.sql"), page]) {
      const made = text.match(/create database .*/g) ?? [];
      t.ok(made.length > 0);
      for (const command of made) t.match(command, wanted);
    }
    const { POSTGRES_INITDB_ARGS: inContainer } = parse(read("compose.yaml")).services.postgres
      .environment;
    t.match(inContainer, "--encoding=UTF8 --locale=C");
  });

  t.test("start the output of the build, as a user that is not root", async (t) => {
    const dockerfile = read("Dockerfile");
    t.match(dockerfile, /^USER node$/m);
    t.match(dockerfile, /^HEALTHCHECK /m);
    for (const file of ["Dockerfile", "tollgate@.service"]) {
      t.match(read(file), /dist\/core\/main\.js/);
    }
    t.match(read("nginx.conf"), /proxy_buffering off;[\s\S]*proxy_next_upstream error timeout;/);
  });
});
