import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { Problems } from "../../../core/config/problem.ts";
import { readSource } from "../../../core/config/read-source.ts";
import { settingSources } from "../../../core/config/setting-sources.ts";
import type { Services } from "../../../core/plugin/index.ts";
import { packageRoot } from "../../../core/process/root.ts";
import { commandsOf } from "../../../plugins/servers/handbook.ts";
import { secretsJson } from "../../../plugins/servers/secrets.ts";

const NOW = Date.UTC(2026, 10, 28);
const folder = mkdtempSync(join(tmpdir(), "tollgate-secrets-"));
t.teardown(() => rmSync(folder, { recursive: true }));
const keyFile = join(folder, "openai-key");
const data = join(folder, "data");
mkdirSync(data);
for (const file of [keyFile, join(data, "state-key"), join(data, "balances-id")]) {
  writeFileSync(file, "hidden-in-a-file\n");
  utimesSync(file, NOW / 1000, NOW / 1000 - 3 * 86_400 - 60);
}

const HOT = "redis://127.0.0.1:6379";
const LEDGER = "postgres://tollgate:hidden-password@127.0.0.1/tollgate";
const CONFIG = `
admin: { token: "\${GATEWAY_ADMIN_TOKEN}" }
stores: { hot: "${HOT}", ledger: "\${DATABASE_URL}", data: ./data }
upstreams:
  openai: { protocols: { chat: "https://api.openai.com/v1" }, keys: ["\${file:${keyFile}}"] }
  xai: { keys: ["\${XAI_API_KEY:-}"] }
plugins:
  - auth
  - accounts: { master_keys: [{ id: "2026-11", key: hidden-in-the-config }] }
  - of-others: { api_token: "\${OTHERS}" }
`;

async function listed(
  language: "en" | "vi",
  ledger = LEDGER,
  way: Parameters<typeof secretsJson>[2] = "hand",
) {
  const file = join(folder, "gateway.yaml");
  writeFileSync(file, CONFIG);
  const environment = {
    GATEWAY_ADMIN_TOKEN: "hidden-token",
    DATABASE_URL: ledger,
    OTHERS: "hidden",
  };
  const source = await readSource(file, environment, new Problems());
  const sources = source ? settingSources(source) : [];
  const config = { sources, stores: { hot: HOT, ledger, data } };
  const services = { config, clock: { now: () => NOW, monotonic: () => 0 } };
  return secretsJson(services as unknown as Services, language, way);
}

t.test(
  "each secret says where it comes from, its age, and how to change it; none has a value",
  async (t) => {
    const all = await listed("en");
    t.strictSame(
      all.map(({ secret, from, age_days, overlap, takes_effect }) =>
        [secret, from, age_days, overlap, takes_effect].join(" | "),
      ),
      [
        "admin.token | GATEWAY_ADMIN_TOKEN |  | false | restart",
        "stores.ledger | DATABASE_URL |  | false | restart",
        "accounts.master_keys.0.key | the config file |  | true | reload",
        "of-others.api_token | OTHERS |  | false | restart",
        "state-key | the data folder | 3 | false | restart",
        `upstreams.openai.keys.0 | ${keyFile} | 3 | true | reload`,
      ],
    );
    t.notMatch(JSON.stringify(all), /hidden/);
    for (const { used_by, change, commands } of all) {
      t.ok(String(used_by).length > 10 && String(change).length > 20);
      t.match(commands, /^(?:npm run admin|kill|docker|systemctl|sed|NEW=)/);
    }
  },
);

t.test("what leaked is changed by the steps of one page", async (t) => {
  const security = readFileSync(join(packageRoot, "SECURITY.md"), "utf8");
  const [, leaked = ""] = security.split("## If a secret leaked");
  t.match(leaked, "(config/operating/secrets.md)");
  t.notMatch(leaked, /SePay|master_keys|SIGHUP/);
  const page = readFileSync(join(packageRoot, "config/operating/secrets.md"), "utf8");
  for (const name of ["provider's key", "GATEWAY_ADMIN_TOKEN", "TOLLGATE_MASTER_KEY", "SEPAY_"])
    t.match(page, name);
});

t.test("a password of Postgres is needed at once by connections that are renewed", async (t) => {
  for (const language of ["en", "vi"] as const) {
    const ledger = (await listed(language)).find(({ secret }) => secret === "stores.ledger");
    t.match(ledger?.["change"], /30 .* 60/);
  }
});

t.test("no commands change the role of another Postgres than the ledger's", async (t) => {
  const commands = async (way: "systemd" | "docker", host: string, user = "tollgate") => {
    const all = await listed("en", `postgres://${user}:hidden@${host}/tollgate`, way);
    return String(all.find(({ secret }) => secret === "stores.ledger")?.["commands"]);
  };
  for (const host of ["127.0.0.1:5432", "[::1]"])
    t.match(await commands("systemd", host), "alter role tollgate");
  t.match(await commands("docker", "postgres:5432"), "alter role tollgate");
  for (const host of ["db.internal", "a:5432,b:5432"]) {
    t.match(await commands("systemd", host), /^systemctl restart/, host);
    t.match(await commands("docker", host), /^docker compose up/, host);
  }
  t.match(await commands("systemd", "127.0.0.1", "other"), /^systemctl restart/);
});

t.test("a new password of Postgres leaves the rest of the address as it is", async (t) => {
  const block = await commandsOf("secrets.md", "postgres");
  const [, program = ""] = /sed -i (".*") /.exec(block) ?? [];
  for (const [before, after] of [
    [
      "postgres://tollgate:old@127.0.0.1:5432/tollgate",
      "postgres://tollgate:a1@127.0.0.1:5432/tollgate",
    ],
    [
      "'postgresql://tollgate:o@d@[::1]/b?sslmode=x'",
      "'postgresql://tollgate:a1@[::1]/b?sslmode=x'",
    ],
  ]) {
    const input = `A=1\nDATABASE_URL=${before}\n`;
    const env = { ...process.env, NEW: "a1" };
    const { stdout } = spawnSync("sh", ["-c", `sed ${program}`], { input, encoding: "utf8", env });
    t.equal(stdout, `A=1\nDATABASE_URL=${after}\n`);
  }
});

t.test("in Vietnamese too", async (t) => {
  const [english, vietnamese] = [await listed("en"), await listed("vi")];
  for (const [at, { used_by, change }] of vietnamese.entries()) {
    t.not(used_by, english[at]?.["used_by"]);
    t.not(change, english[at]?.["change"]);
  }
});
