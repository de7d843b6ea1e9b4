import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { parse } from "yaml";
import { type Environment, formatProblems, loadConfig } from "../../../core/config/load.ts";
import { isObject, objectOf } from "../../../core/process/json.ts";
import { packageRoot } from "../../../core/process/root.ts";
import { bedrock } from "../../../core/upstream/kinds/bedrock.ts";
import { credentialsOf } from "./files.ts";

async function load(name: string, environment: Environment) {
  const loaded = await loadConfig(join(packageRoot, "config", name), environment);
  if (!loaded.ok) assert.fail(formatProblems(loaded.problems));
  return loaded.config;
}

t.test("the default config needs no variable and no server", async (t) => {
  const config = await load("gateway.yaml", {});
  t.strictSame([config.stores.hot, config.stores.ledger], ["embedded", "embedded"]);
  for (const upstream of Object.values(config.upstreams)) {
    const addresses = objectOf(upstream.createAdapter().describe()["protocols"]);
    assert.ok(addresses);
    for (const address of Object.values(addresses))
      t.match(String(address), /^http:\/\/127\.0\.0\.1:/);
  }
});

t.test("the production config needs only the variables that it names", async (t) => {
  const text = await readFile(join(packageRoot, "config/production.yaml"), "utf8");
  const settings = text.replace(/#.*$/gm, "");
  const needed = new Set([...settings.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, name = ""]) => name));
  const environment = {
    ...Object.fromEntries([...needed].map((name) => [name, `value-of-${name}`])),
    REDIS_URL: "rediss://redis:6379",
    DATABASE_URL: "postgres://postgres/tollgate?sslmode=verify-full",
    TOPUP_BANK_BIN: "970422",
    TOPUP_ACCOUNT_NUMBER: "0011001932418",
    PUBLIC_URL: "https://tollgate.test",
    MAIL_FROM: "no-reply@tollgate.test",
    GATEWAY_ADMIN_TOKEN: "a".repeat(32),
    OPENAI_API_KEY: "value-of-OPENAI_API_KEY",
    TOLLGATE_MASTER_KEY: Buffer.alloc(32).toString("base64"),
  };
  const { upstreams, stores, listen, admin, plugins } = await load("production.yaml", environment);
  t.match(
    plugins.find(({ name }) => name === "topup")?.options,
    { bank: { bin: "970422", name: "value-of-TOPUP_BANK_NAME" } },
    "customers never pay to a bank that the operator has not named",
  );
  t.strictSame([listen.host, admin.listen], ["127.0.0.1", { host: "127.0.0.1", port: 8081 }]);
  const composed = parse(await readFile(join(packageRoot, "config/deploy/compose.yaml"), "utf8"));
  const given: Record<string, string> = composed["x-gateway"].environment;
  // Compose takes the passwords of the stores from .env.
  const inCompose = Object.fromEntries(
    Object.entries(given).map(([name, text]) => [
      name,
      text.replace(/\$\{\w+:\?[^}]+\}/, "secret"),
    ]),
  );
  const there = await load("production.yaml", { ...environment, ...inCompose });
  t.strictSame([there.listen.host, there.admin.listen?.host], ["0.0.0.0", "0.0.0.0"]);
  const ports = { LISTEN_PORT: "8001", ADMIN_LISTEN_PORT: "8101" };
  const unit = await load("production.yaml", { ...environment, ...ports });
  t.strictSame([unit.listen.port, unit.admin.listen?.port], [8001, 8101]);
  for (const [file, port] of [
    ["production.env.example", 8101],
    ["deploy/compose.yaml", 8081],
  ] as const) {
    const text = await readFile(join(packageRoot, "config", file), "utf8");
    t.match(
      text,
      /REDIS_URL(?:=|: ")redis:\/\/default:/,
      `${file}: without a user, redis-cli is refused`,
    );
    t.match(text, new RegExp(`GATEWAY_URL[=:] ?http://127\\.0\\.0\\.1:${port}$`, "m"), file);
  }
  t.strictSame(
    [stores.hot, stores.ledger],
    ["rediss://redis:6379", "postgres://postgres/tollgate?sslmode=verify-full"],
  );
  t.strictSame(credentialsOf(upstreams["openai"]), [
    "authorization",
    "Bearer value-of-OPENAI_API_KEY",
  ]);

  const nothing = await loadConfig(join(packageRoot, "config/production.yaml"), {});
  assert.ok(!nothing.ok);
  // A variable may occur more than once.
  const missing = new Set(nothing.problems.map(({ message }) => message));
  t.strictSame(
    [...missing],
    [...needed].map((name) => `environment variable ${name} is not set`),
  );
});

t.test("both configs have the same upstreams and model families", async (t) => {
  const gateway = await load("gateway.yaml", {});
  const text = await readFile(join(packageRoot, "config/production.yaml"), "utf8");
  for (const name of Object.keys(gateway.upstreams)) t.ok(text.includes(`\n  ${name}:\n`), name);
  const { profile } = parse(text).upstreams.aws;
  t.strictSame(profile, gateway.upstreams["aws"]?.profile, "Claude on Amazon is the same in both");
  t.strictSame(profile, bedrock.profile, "and by the credentials of AWS");

  const alias = gateway.plugins.find(({ name }) => name === "alias")?.options;
  assert.ok(isObject(alias) && isObject(alias["families"]));
  for (const [family, id] of Object.entries(alias["families"])) {
    t.equal(typeof id, "string");
    t.match(String(id), new RegExp(`^claude-${family}-5(?:-\\d+)?$`));
    t.ok(gateway.catalogue.get(String(id)), family);
    t.ok(text.includes(`${family}: ${id}\n`));
  }
});

t.test("the production config shows every setting of core", async (t) => {
  const text = await readFile(join(packageRoot, "config/production.yaml"), "utf8");
  const schema: unknown = JSON.parse(
    await readFile(join(packageRoot, "config/schema.json"), "utf8"),
  );
  const keys = (node: unknown): string[] => {
    if (!isObject(node) || !isObject(node["properties"])) return [];
    return Object.entries(node["properties"]).flatMap(([key, value]) =>
      key === "profile" || key === "plugins" ? [key] : [key, ...keys(value)],
    );
  };
  assert.ok(isObject(schema) && isObject(schema["definitions"]));
  const gateway = schema["definitions"]["gateway"];
  t.ok(keys(gateway).length > 25);
  for (const key of keys(gateway)) t.ok(new RegExp(`\\b${key}\\b`).test(text), key);
});

t.test("models of Amazon Bedrock are at the addresses that AWS documents for them", async (t) => {
  const written = await readFile(join(packageRoot, "config/production.yaml"), "utf8");
  const text = written.replaceAll(/\$\{AWS_REGION:-[a-z0-9-]+\}/g, "us-east-1");
  const hosts = [...text.matchAll(/https:\/\/(bedrock-[^"\s]+)/g)].map(([, address]) => address);
  t.strictSame(hosts, [
    "bedrock-runtime.us-east-1.amazonaws.com/anthropic",
    "bedrock-mantle.us-east-1.api.aws/v1",
    "bedrock-mantle.us-west-2.api.aws/openai/v1",
    "bedrock-mantle.us-west-2.api.aws/openai/v1",
  ]);
  const catalogue = await readFile(join(packageRoot, "config/catalogue.yaml"), "utf8");
  const routes = [...catalogue.matchAll(/upstream: (aws[a-z-]*),?\s+model: ([^\s,]+)/g)];
  t.equal(routes.length, 23);
  for (const [, upstream, model = ""] of routes) {
    // At bedrock-runtime, Claude has no throughput on demand without an inference profile.
    if (model.includes("anthropic")) t.match([upstream, model], ["aws", /^global\.anthropic\./]);
    else t.equal(upstream, model.startsWith("xai.") ? "aws-mantle-openai" : "aws-mantle", model);
  }
});
