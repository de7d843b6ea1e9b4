import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { parse } from "yaml";
import { arrayOf, objectOf, parseJson } from "../../../core/process/json.ts";
import { packageRoot } from "../../../core/process/root.ts";
import { startMailServer } from "../../support/mail-server.ts";
import { runCli, runCliProcess } from "./cli-runs.ts";

const GIVEN = {
  PUBLIC_URL: "http://localhost",
  ANTHROPIC_API_KEY: "sk-$(id)`id`&more",
  TOPUP_BANK_BIN: "970422",
  TOPUP_BANK_NAME: "MB Bank",
  TOPUP_ACCOUNT_NAME: "NGUYEN VAN A",
  TOPUP_ACCOUNT_NUMBER: "0011001932418",
  MAIL_FROM: "no-reply@example.com",
  // Port 9, the discard service, refuses connections.
  REDIS_URL: "redis://default:PASSWORD@127.0.0.1:9",
  DATABASE_URL: "postgres://tollgate:secret@127.0.0.1:9/tollgate",
};

t.test("init", async (t) => {
  const folder = join(t.testdir(), "etc");
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  const init = async (env: Record<string, string>, ...options: string[]) => {
    const { REDIS_URL, DATABASE_URL } = GIVEN;
    const args = ["init", "--folder", folder, ...options];
    // A run of tests has stores of its own in its environment.
    const value = { ...process.env, REDIS_URL, DATABASE_URL, ...env };
    const { restore } = t.intercept(process, "env", { value });
    const run = env === GIVEN ? runCliProcess : runCli;
    const result = await run(args, { env: value }).finally(restore);
    const rows = arrayOf(parseJson(result.stdout)).map(objectOf);
    return { ...result, rows };
  };
  const inShell = (name: string) =>
    execFileSync("sh", ["-c", `set -eu; . "$0"; printf %s "$${name}"`, join(folder, "env")], {
      encoding: "utf8",
    });

  // Of a careful administrator.
  const umask = process.umask(0o077);
  const first = await init(GIVEN);
  process.umask(umask);

  t.test(
    "writes the shipped files for this machine, and keeps secrets to their owner",
    async (t) => {
      t.equal(first.code, 1, "something is left to do");
      for (const name of ["env", "redis.conf", "postgres.sql"]) {
        t.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
      }
      for (const name of ["", "production.yaml", "catalogue.yaml", "tollgate@.service"]) {
        const { mode } = statSync(join(folder, name));
        t.equal(mode & 0o777, name === "" ? 0o755 : 0o644, `${name}: the gateway's user reads it`);
      }
      t.match(read("nginx.conf"), /server 127\.0\.0\.1:8001 .*\n.*server 127\.0\.0\.1:8002 /);
      t.match(read("nginx.conf"), "/etc/letsencrypt/live/localhost/fullchain.pem");
      t.match(read("tollgate@.service"), `--config ${folder}/production.yaml`);
      t.match(read("tollgate@.service"), `EnvironmentFile=${folder}/env`);
      t.match(read("postgres.sql"), "password 'secret'");
      t.match(
        read("redis.conf"),
        /^requirepass PASSWORD$/m,
        "Redis takes nothing else on the line",
      );
    },
  );

  t.test("writes variables that a shell reads as they were given", async (t) => {
    for (const name of ["ANTHROPIC_API_KEY", "TOPUP_ACCOUNT_NAME"] as const) {
      t.equal(inShell(name), GIVEN[name]);
    }
    t.equal(Buffer.from(inShell("TOLLGATE_MASTER_KEY"), "base64").length, 32);
    t.match(inShell("GATEWAY_ADMIN_TOKEN"), /^[0-9a-f]{48}$/);
  });

  t.test("lists what is left to do, line by line", async (t) => {
    const states = (rows: typeof first.rows) =>
      rows.map((row) => `${row?.["state"]}: ${row?.["how"]}`);
    t.match(states(first.rows).join("\n"), /to do: .*environment variable SMTP_HOST is empty/);
    const mail = { SMTP_HOST: "127.0.0.1", SMTP_USER: "u", SMTP_PASSWORD: "p" };
    const { rows } = await init(mail, "--replace");
    const found = states(rows).join("\n");
    t.match(found, /to do: stores\.hot: cannot use Redis at 127\.0\.0\.1:9/);
    t.match(found, /to do: stores\.ledger: cannot use Postgres at 127\.0\.0\.1:9/);
    t.match(found, /ok: localhost is /);
    t.match(found, /to do: 127\.0\.0\.1: connect ECONNREFUSED/);
    t.match(found, /to do: sudo install --backup -m 644 .*nginx\.conf/);
  });

  t.test("tries the mail server of the config, and none if the config has none", async (t) => {
    const [env, config] = [read("env"), read("production.yaml")];
    const mailServer = await startMailServer({ user: "u", password: `a \${p}` });
    t.teardown(() => mailServer.stop());
    writeFileSync(join(folder, "env"), `${env}MAIL_PORT=${mailServer.port}\n`);
    const mails = async (change: (text: string) => string) => {
      writeFileSync(join(folder, "production.yaml"), change(config));
      const { rows } = await init({}, "--check");
      return rows.filter((row) => row?.["what"] === "mail").map((row) => row?.["how"]);
    };
    const ofFile = (text: string) =>
      text
        .replace(/port: 587 .*/, `port: \${MAIL_PORT:-25}`)
        .replace(/user: .*SMTP_USER.*/, "user: u")
        .replace(/host: .*SMTP_HOST.*/, "host: 127.0.0.1")
        .replace(/password: .*SMTP_PASSWORD.*/, () => `password: "a $\${p}"`);
    t.strictSame(await mails(ofFile), ["127.0.0.1 takes the user and password"]);
    t.match(await mails((text) => ofFile(text).replace("secure: false", "secure: true")), [
      /^127\.0\.0\.1: .*(?:SSL|TLS|wrong version)/i,
    ]);
    const secret = join(t.testdir({ secret: `a \${p}\n` }), "secret");
    const byFile = (text: string) =>
      ofFile(text).replace(/password: "a .*/, `password: "\${file:${secret}}"`);
    t.strictSame(await mails(byFile), ["127.0.0.1 takes the user and password"]);
    t.strictSame(await mails((text) => byFile(text).replace(secret, "/none")), []);
    t.strictSame(await mails((text) => text.replace(/^ {6}smtp:\n(?: {8,}.*\n)+/m, "")), []);
    rmSync(join(folder, "production.yaml"));
    const { rows } = await init({}, "--check");
    t.match(JSON.stringify(rows), /to do.*production\.yaml.*DNS/, "a line among others");
    writeFileSync(join(folder, "env"), env);
    writeFileSync(join(folder, "production.yaml"), config);
  });

  t.test("overwrites nothing without being told, and keeps secrets if it is", async (t) => {
    const before = read("env");
    const refused = await init({ PUBLIC_URL: "http://other.example" });
    t.equal(refused.code, 1);
    t.match(refused.stderr, /env is there.*--replace/);
    t.equal(read("env"), before);
    writeFileSync(join(folder, "env"), `${before}OTHER=mine\n`);
    await init({ OPENAI_API_KEY: "sk-2" }, "--replace");
    t.equal(read("env"), `${before.replace("OPENAI_API_KEY=", "OPENAI_API_KEY=sk-2")}OTHER=mine\n`);
  });

  t.test("keeps env as the operator wrote it, whatever the shell still has", async (t) => {
    const before = read("env");
    const rotated = before
      .replace(/(?<=^DATABASE_URL=).*/m, '"postgres://tollgate:new@127.0.0.1:9/tollgate"  ')
      .replace("XAI_API_KEY=", "# Mine, of 2027\n  XAI_API_KEY='of mine'");
    const own = rotated.replace("redis://default", "redis://mine");
    const text = `${own}https_proxy=http://127.0.0.1:9\nexport MORE=1\n`;
    writeFileSync(join(folder, "env"), text);
    const { rows } = await init({ DATABASE_URL: GIVEN.DATABASE_URL }, "--replace");
    t.equal(read("env"), text);
    t.match(read("postgres.sql"), "password 'new'");
    t.match(rows[0], {
      state: "to do",
      what: join(folder, "env"),
      how: /differ: .*DATABASE_URL\b/,
    });
    t.match(rows[1], { state: "to do", what: "REDIS_URL", how: /^no redis\.conf is written/ });
    t.notMatch(JSON.stringify(rows), /tollgate:(?:secret|new)@/);
    writeFileSync(join(folder, "env"), before);
  });

  t.test("says that the unit hides home folders, from which nothing can start", async (t) => {
    const shipped = read("tollgate@.service");
    const nvm = shipped.replace(/^ExecStart=\S+/m, "ExecStart=/root/.nvm/bin/node");
    for (const [unit, told] of [
      [nvm, /to do.*elsewhere.*instead of \/root\/\.nvm\/bin\/node"/],
      [nvm.replace(/\S+(?=dist.core)/, "/home/an/tollgate/"), /node, \/home\/an\/tollgate\/dist/],
    ] as const) {
      writeFileSync(join(folder, "tollgate@.service"), unit);
      t.match(JSON.stringify((await init({}, "--check")).rows), told);
    }
    writeFileSync(join(folder, "tollgate@.service"), shipped);
  });

  t.test("keeps what the operator changed in the files that it writes again", async (t) => {
    const nginx = read("nginx.conf");
    writeFileSync(join(folder, "nginx.conf"), `# mine\n${nginx}`);
    const { rows } = await init({}, "--replace");
    t.equal(read("nginx.conf"), nginx);
    t.equal(read("nginx.conf.before"), `# mine\n${nginx}`);
    t.match(JSON.stringify(rows), /to do.*diff \S+nginx\.conf\.before \S+nginx\.conf"/);
    t.notOk(existsSync(join(folder, "redis.conf.before")), "it was as it is");
    for (const [at, mine] of ["# second\n", "# third\n"].entries()) {
      writeFileSync(join(folder, "nginx.conf"), mine);
      t.match((await init({}, "--replace")).stdout, `nginx.conf.before.${at + 2} `);
      t.equal(read(`nginx.conf.before.${at + 2}`), mine);
    }
    t.equal(read("nginx.conf.before"), `# mine\n${nginx}`, "the first is kept");
  });

  t.test("asks again at once for a value that cannot be written", async (t) => {
    const replies = new Map([["SMTP_PASSWORD", ["it's", "back\\slash", "right"]]]);
    const ask = async (question: string) =>
      replies.get(question.split(" ")[0] ?? "")?.shift() ?? "";
    const { stdout } = await runCli(["init", "--folder", folder, "--replace"], { ask });
    t.match(stdout, /"state"/);
    t.match(read("env"), /^SMTP_PASSWORD=right$/m);
    const own = read("env").replace("SMTP_PASSWORD=right", `SMTP_PASSWORD="it's"`);
    writeFileSync(join(folder, "env"), own);
    replies.set("SMTP_PASSWORD", ["", "asked twice"]);
    await runCli(["init", "--folder", folder, "--replace"], { ask });
    t.equal(read("env"), own, "it reads its own as it is");
  });

  t.test("makes secrets up in a copy of the template, and in an empty file", async (t) => {
    const template = readFileSync(join(packageRoot, "config/production.env.example"), "utf8");
    const other = t.testdir({
      env: template.replace("PUBLIC_URL=", "PUBLIC_URL=http://localhost"),
    });
    const env = () => readFileSync(join(other, "env"), "utf8");
    const run = ["init", "--folder", other, "--replace"];
    await runCli(run);
    t.match(env(), /^PUBLIC_URL=http:\/\/localhost$/m);
    t.match(env(), /^GATEWAY_ADMIN_TOKEN=[0-9a-f]{48}$/m);
    t.notMatch(env(), /=BASE64_OF|:PASSWORD@/);
    writeFileSync(join(other, "env"), "\n");
    await runCli(run);
    t.match(env(), /^# The variables.*\n(?:.*\n)*GATEWAY_ADMIN_TOKEN=[0-9a-f]{48}$/m);
    // A shell that has read a copy of the template.
    writeFileSync(join(other, "env"), "\n");
    const value = { ...process.env, TOLLGATE_MASTER_KEY: "BASE64_OF_32_BYTES" };
    const { restore } = t.intercept(process, "env", { value });
    await runCli(run).finally(restore);
    t.notMatch(env(), /=BASE64_OF/);
  });

  t.test("writes config, prices and costs once", async (t) => {
    const config = parse(read("production.yaml"), { merge: true });
    t.equal(config.catalogue, "catalogue.yaml");
    t.match(read("production.yaml"), /^ +costs: costs\.yaml /m);
    for (const name of ["production.yaml", "catalogue.yaml", "costs.yaml"]) {
      t.match(read(name), /^# yaml-language-server: \$schema=\/.*\/config\/schema\.json$/m);
      writeFileSync(join(folder, name), "# mine\n");
    }
    await init({}, "--replace");
    for (const name of ["production.yaml", "catalogue.yaml", "costs.yaml"]) {
      t.equal(read(name), "# mine\n");
    }
  });

  t.test("asks nothing if it cannot write there, and says what to do", async (t) => {
    const nowhere = join(folder, "env", "below-a-file");
    const { code, stderr } = await runCliProcess(["init", "--folder", nowhere]);
    t.equal(code, 1);
    t.match(stderr, /^cannot write to .*below-a-file \(ENOTDIR\): .*--folder.*compose-env\.sh/);
  });

  t.test("refuses a value that shells and systemd read differently", async (t) => {
    const before = read("env");
    const { code, stderr } = await init({ ZAI_API_KEY: "O'NEIL" }, "--replace");
    t.equal(code, 2);
    t.match(stderr, /ZAI_API_KEY: .*quotes/);
    t.equal(read("env"), before);
  });
});
