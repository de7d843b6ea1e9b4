import { spawn } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";
import { committedWallet } from "../../support/admin.ts";
import { startMailServer } from "../../support/mail-server.ts";
import { until } from "../../support/until.ts";
import { BLOCKS } from "./blocks.ts";
import { block, DOMAIN, Machine, type Result } from "./machine.ts";

/** The answers of an operator to `init`. */
const ANSWERS = {
  PUBLIC_URL: `https://${DOMAIN}`,
  ANTHROPIC_API_KEY: "provider-key",
  SMTP_HOST: "127.0.0.1",
  SMTP_USER: "mail-user",
  SMTP_PASSWORD: "mail password",
  MAIL_FROM: "no-reply@example.com",
  TOPUP_BANK_BIN: "970422",
  TOPUP_BANK_NAME: "MB Bank",
  TOPUP_ACCOUNT_NUMBER: "0011001932418",
  TOPUP_ACCOUNT_NAME: "NGUYEN VAN A",
};
const MAIL_PORT = 587;
const SIMULATOR = "http://127.0.0.1:9001";

/** With `stores`, pages that neither Postgres, Redis nor nginx can change are left out: another system has run them. */
const isWhole = !process.argv.includes("stores");
const whole = { skip: isWhole ? false : "run on another system" };

const machine = await Machine.make();
const mail = { user: ANSWERS.SMTP_USER, password: ANSWERS.SMTP_PASSWORD };
const mailServer = await startMailServer(mail, MAIL_PORT);
const simulator = join(packageRoot, "dist", "test", "support", "provider", "main.js");
spawn(process.execPath, [simulator, "--port", "9001"], { stdio: "ignore" }).unref();

const PRODUCTION = "/etc/tollgate/production.yaml";
/** One process of a gateway uses the stores as several do, and starts in a third of their processor time. */
const ofOneWorker = (config: string) => config.replace(/^ {2}workers: 2/m, "  workers: 1");

const done = new Set<string>();
/** Runs a block of a page word for word, after the commands that its page says to begin with. */
function page(
  name: string,
  part: string,
  {
    before = "",
    env = {},
    cwd,
  }: { before?: string; env?: Record<string, string>; cwd?: string } = {},
): Promise<Result> {
  done.add(`${name} ${part}`);
  return machine.run(`${before}\n${block(name, part)}`, env, cwd);
}

const TOKEN = block("first-call.md", "token");
done.add("first-call.md token");
const operator = { before: TOKEN };
const ready = async (port: number) =>
  (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status;
const bothReady = async () => {
  for (const port of [8101, 8102]) {
    await until(`${port} is ready`, async () => (await ready(port)) === 200);
  }
};
const adminToken = () =>
  /^GATEWAY_ADMIN_TOKEN=(.*)$/m.exec(readFileSync("/etc/tollgate/env", "utf8"))?.[1] ?? "";
let accountId = "";
/** By HTTP: each process of the admin command takes a second of processor time. */
const balance = async () => {
  const gateway = { url: "http://127.0.0.1:8101", adminToken: adminToken() };
  return (await committedWallet(gateway, accountId)).balance;
};

let key = "";
const call = () => page("first-call.md", "call", { ...operator, env: { KEY: key } });

/** Calls with a body that a thread reads. */
function long(path: string): Promise<Result> {
  const messages = [{ role: "user", content: "Xin chào! ".repeat(10_000) }];
  const body = { model: "claude-haiku-5-5", max_tokens: 50, messages };
  writeFileSync(machine.file("long.json"), JSON.stringify(body));
  const headers = `--header "authorization: Bearer ${key}" --header "content-type: application/json"`;
  const sent = `${headers} --data @${machine.file("long.json")}`;
  return machine.run(
    `${TOKEN}curl --fail-with-body --silent --show-error "$PUBLIC_URL${path}" ${sent}`,
  );
}

t.test("install on a server", async (t) => {
  const since = performance.now();
  await page("install.md", "init", { before: "umask 077", env: ANSWERS });
  t.equal(statSync("/etc/tollgate/env").mode & 0o777, 0o600);
  // The provider is simulated.
  const config = readFileSync(PRODUCTION, "utf8").replace("https://api.anthropic.com", SIMULATOR);
  writeFileSync(PRODUCTION, isWhole ? config : ofOneWorker(config));
  await page("install.md", "stores");
  await page("install.md", "certificate");
  await page("install.md", "start");
  await bothReady();
  const rights = await machine.run(
    `cd /; runuser -u postgres -- psql --tuples-only --no-align --command="select rolsuper, rolcreatedb, rolcreaterole from pg_roles where rolname = 'tollgate'"`,
  );
  t.equal(rights.stdout.trim(), "f|f|f", "the role has no rights");
  const gateways = await machine.run(
    "ps -e -o user= -o args= | grep core/main.js | grep -v -e grep -e bash",
  );
  const users = gateways.stdout
    .trim()
    .split("\n")
    .map((line) => line.split(" ")[0]);
  t.strictSame([...new Set(users)], ["tollgate"], "no gateway runs as root");
  const { stdout } = await machine.run(`curl --silent --show-error https://${DOMAIN}/healthz`);
  t.match(stdout, '"status":"ok"');
  const certificate = async () => {
    const shown = `openssl s_client -connect 127.0.0.1:443 -servername ${DOMAIN} < /dev/null`;
    return (await machine.run(`${shown} 2> /dev/null | openssl x509 -noout -serial`)).stdout;
  };
  const first = await certificate();
  await machine.run("certbot renew");
  await until("nginx has the renewed certificate", async () => (await certificate()) !== first);
  t.comment(`installed in ${((performance.now() - since) / 1000).toFixed(1)} s`);
});

t.test("the first call", async (t) => {
  const since = performance.now();
  const { stdout } = await page("first-call.md", "account", operator);
  accountId = /"id": "([^"]+)"/.exec(stdout)?.[1] ?? "";
  key = /"key": "(tg-[^"]+)"/.exec(stdout)?.[1] ?? "";
  const reply = await call();
  t.match(reply.stdout, '"type":"message"');
  for (const path of ["/v1/chat/completions", "/v1/messages/count_tokens"]) {
    t.match((await long(path)).stdout, "_tokens", `threads work: ${path}`);
  }
  t.comment(`called ${((performance.now() - since) / 1000).toFixed(1)} s later`);
  await balance();
  const { stdout: cost } = await page("first-call.md", "cost", operator);
  t.match(cost, '"drift": false');
});

t.test("the first customer, and SePay", whole, async (t) => {
  for (const part of ["look", "invite", "import", "credit", "suspend"])
    await page("first-customer.md", part, operator);
  t.match((await call()).stdout, '"type":"message"');
  // A customer signs up at the address of the service.
  const sent = JSON.stringify({ email: "an@example.com", password: "a long password of an" });
  const type = "--header 'content-type: application/json'";
  const signUp = `${TOKEN}curl --fail-with-body --silent "$PUBLIC_URL/account/v1/sign-up" ${type} --data '${sent}'`;
  await machine.run(signUp);
  t.match(
    await mailServer.linkTo("an@example.com", "verify"),
    `https://${DOMAIN}/dashboard/verify`,
  );
  const { stdout } = await page("sepay.md", "test", operator);
  t.match(stdout, '"unmatched"');
  await page("sepay.md", "ignore", operator);
});

t.test("every day", async (t) => {
  await page("backup.md", "cron");
  const { stdout } = await page("every-day.md", "look", operator);
  t.match(stdout, /\d+\.dump/);
});

t.test("prices every day, and every month", whole, async (t) => {
  await page("every-day.md", "reload");
  await bothReady();
  await page("every-month.md", "prove", operator);
  const earned = await page("every-month.md", "earned", operator);
  t.match(earned.stdout, /"owed_vnd"[\s\S]*^provider,revenue_vnd,cost_vnd,/m);
  await page("every-month.md", "months", operator);
  await page("second-server.md", "compare");
});

t.test("every secret", whole, async (t) => {
  // For all starts from here on: threads and two workers have served calls.
  writeFileSync(PRODUCTION, ofOneWorker(readFileSync(PRODUCTION, "utf8")));
  const before = adminToken();
  await page("secrets.md", "token", operator);
  t.not(adminToken(), before);
  await page("secrets.md", "postgres", operator);
  t.match((await call()).stdout, '"type":"message"');
});

t.test("upgrade", whole, async (t) => {
  await page("upgrade.md", "backup");
  const catalogue = "/etc/tollgate/catalogue.yaml";
  const shipped = readFileSync(catalogue, "utf8");
  const price = /(?<=id: claude-haiku-5-5\n.*: )\d+/;
  writeFileSync(catalogue, shipped.replace(price, "45678"));
  await page("upgrade.md", "switch");
  await bothReady();
  const { stdout } = await machine.run("ps -o args= -u tollgate");
  t.match(stdout, "/opt/tollgate-2/dist/core/main.js");
  const { stdout: models } = await machine.run(`${TOKEN}npm run admin -- models`);
  t.match(models, /\b45678\b/, "the operator's price is as before");
  // Rejects if something is left to do, such as to install the unit of the old folder again.
  await machine.run("npm run admin -- init --check");
  t.match((await call()).stdout, '"type":"message"');
});

t.test("backup, loss and restore", async (t) => {
  const backedUp = await balance();
  const cwd = machine.file("");
  const postgres = { before: block("backup.md", "vps"), cwd };
  done.add("backup.md vps");
  await page("backup.md", "backup", postgres);
  await call();
  t.not(await balance(), backedUp);
  await machine.run("systemctl stop tollgate@1 tollgate@2");
  await page("backup.md", "restore", postgres);
  await page("backup.md", "swap", postgres);
  await machine.run("systemctl start tollgate@1 tollgate@2");
  await until("a gateway sees it", async () => (await ready(8101)) === 503);
  await page("backup.md", "open", operator);
  await bothReady();
  t.equal(await balance(), backedUp);
  t.match((await call()).stdout, '"type":"message"');
});

t.test("Cloudflare", whole, async () => {
  const lines = block("cloudflare.md", "", "nginx").trimEnd().split("\n").join(" ");
  await machine.run(`sed -i 's#^http {#http { ${lines}#' /etc/tollgate/nginx.conf`);
  await page("cloudflare.md", "install");
  // Rejects if something is left to do, such as to install nginx.conf as it was.
  await machine.run("npm run admin -- init --check");
});

t.test("all is run that is not run elsewhere", async (t) => {
  const here = Object.entries(BLOCKS).filter(([, reason]) => reason === undefined);
  if (isWhole) t.strictSame([...done].sort(), here.map(([name]) => name).sort());
  await machine.run("systemctl stop tollgate@1 tollgate@2 nginx redis-server");
  await mailServer.stop();
  // Postgres and the simulator end with the machine.
  setImmediate(() => process.exit());
});
