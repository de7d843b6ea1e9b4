import { execFile } from "node:child_process";
import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";
import { admin, committedWallet } from "../../support/admin.ts";
import { startBrowser } from "../../support/browser.ts";
import { BrowserSession } from "../../support/browser-session.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { anonymous } from "../../support/operators.ts";
import { until } from "../../support/until.ts";

const run = promisify(execFile);

/** Returns the e-mail and the password in the sign-in form that a link has opened. */
async function givenIn(browser: Browser, link: string): Promise<string[]> {
  const page = await browser.newPage();
  await page.goto(link);
  const fields = ["input[type=email]", "input[type=password]"];
  return Promise.all(fields.map((field) => page.inputValue(field)));
}

t.test("demo: the first start of the default config", async (t) => {
  let gateway: TestGateway;
  t.before(async () => {
    gateway = await startGateway({ plugins: { demo: true }, firstStart: true });
  });
  t.teardown(() => gateway.close());

  let starts = 1;
  const startAgain = () => {
    starts++;
    return gateway.start();
  };

  /** Returns the output of the last start. */
  async function greeting(): Promise<string> {
    let text = "";
    await until("it is printed", () => {
      const greetings = gateway.logs.split("Tollgate takes calls at");
      text = greetings.at(-1) ?? "";
      return greetings.length > starts && text.includes("npm run admin -- help");
    });
    return text;
  }

  const keyIn = (text: string) => /demo key +(tg-[\w-]+)/.exec(text)?.[1];
  const accountId = async (): Promise<string> => {
    const { body } = await admin(gateway, "GET", "/accounts");
    const [{ id }, ...others] = body["list"] as [{ id: string }];
    t.strictSame(others, []);
    return id;
  };
  /** The commands are for an operator beside the gateway. */
  const operate = (command: string) => {
    const [, ...args] = command.replace("npm run admin --", "cli").split(" ");
    const cli = join(packageRoot, "dist/plugins/admin/cli.js");
    const env = {
      ...process.env,
      GATEWAY_URL: gateway.url,
      GATEWAY_ADMIN_TOKEN: gateway.adminToken,
    };
    return run(process.execPath, [cli, ...args], { env });
  };

  t.test(
    "prints a curl line that works as it is, and is paid from the demo account's balance",
    async (t) => {
      const text = await greeting();
      t.match(text, /balance +100,000 đ/);
      t.ok(text.includes(gateway.url));
      const [line] = text.match(/^ {2}curl [\s\S]*?-d '[^']*'$/m) ?? [];
      // A busy disk may refuse the first call for a moment.
      const { stdout } = await run("sh", ["-c", `${line} -s --retry 30 --retry-delay 1`]);
      t.equal(JSON.parse(stdout).stop_reason, "end_turn");
      const { balance } = await committedWallet(gateway, await accountId());
      t.ok(Number(balance) < 100_000 && Number(balance) > 99_990, balance);
    },
  );

  t.test("prints the line that points Claude Code at the gateway", async (t) => {
    const text = await greeting();
    const claude = `ANTHROPIC_BASE_URL=${gateway.url} ANTHROPIC_AUTH_TOKEN=${keyIn(text)} claude\n`;
    t.ok(text.includes(claude));
  });

  t.test("prints a link to the console that signs the demo operator in", async (t) => {
    const password = readFileSync(join(gateway.data, "demo-operator-password"), "utf8").trim();
    const filled = `#email=operator%40tollgate.local&password=${password}`;
    t.ok((await greeting()).includes(`console      ${gateway.url}/console/sign-in${filled}\n`));
    const given = { email: "operator@tollgate.local", password };
    const signedIn = await anonymous(gateway, "/sign-in", given);
    const session = { url: gateway.url, adminToken: String(signedIn.body["token"]) };
    t.match((await admin(session, "GET", "/me")).body, { role: "owner", is_person: true });
  });

  t.test("prints a link to the sign-in form, filled in", async (t) => {
    const password = readFileSync(join(gateway.data, "demo-password"), "utf8").trim();
    const filled = `email=demo%40tollgate.local&password=${password}`;
    const link = `${gateway.url}/dashboard/sign-in#${filled}`;
    t.ok((await greeting()).includes(`${link}\n`));
    const browser = await startBrowser();
    try {
      t.strictSame(await givenIn(browser, link), ["demo@tollgate.local", password]);
      const other = link.replace("demo%40", "other%40");
      t.strictSame(await givenIn(browser, other), ["", ""], "no other account");
    } finally {
      await browser.close();
    }
  });

  t.test("prints the commands that top the demo account up and show its wallet", async (t) => {
    const text = await greeting();
    const command = (name: string) =>
      new RegExp(`  ${name} +(npm run admin.*)`).exec(text)?.[1] ?? "";
    const before = await committedWallet(gateway, await accountId());
    await operate(command("top up"));
    const { balance } = await committedWallet(gateway, await accountId());
    t.equal(Number(balance) - Number(before.balance), 100_000);
    t.match((await operate(command("wallet"))).stdout, balance);
  });

  t.test(
    "has a password for its account that only the owner of the data folder can read",
    async (t) => {
      const file = join(gateway.data, "demo-password");
      t.equal(statSync(file).mode & 0o777, 0o600);
      const password = readFileSync(file, "utf8").trim();
      const session = new BrowserSession(gateway);
      const { status, body } = await session.signIn("demo@tollgate.local", password);
      t.equal(status, 200);
      t.strictSame([body.account.id, body.account.email_verified], [await accountId(), true]);
      const [key] = (await session.get("/keys")).body.data;
      const revealed = await session.post(`/keys/${key.id}/reveal`);
      t.equal(revealed.body.key, keyIn(await greeting()));
    },
  );

  t.test("keeps account, money and key across a restart", async (t) => {
    const before = await greeting();
    const id = await accountId();
    await gateway.kill9();
    await startAgain();
    const text = await greeting();
    const session = new BrowserSession(gateway);
    const password = readFileSync(join(gateway.data, "demo-password"), "utf8").trim();
    t.equal((await session.signIn("demo@tollgate.local", password)).status, 200);
    t.equal(keyIn(text), keyIn(before));
    t.equal(await accountId(), id);
    t.match(text, /balance +199,99\d/);
  });

  t.test(
    "keeps the key readable by its owner only, and creates a new one if its file is gone",
    async (t) => {
      const file = join(gateway.data, "demo-key");
      const before = readFileSync(file, "utf8");
      t.equal(statSync(file).mode & 0o777, 0o600);
      t.equal(before.trim(), keyIn(await greeting()));
      await gateway.stop();
      rmSync(file);
      await startAgain();
      const key = keyIn(await greeting());
      t.equal(readFileSync(file, "utf8").trim(), key);
      t.not(key, before.trim());
      const headers = { "x-api-key": key ?? "" };
      const response = await fetch(`${gateway.url}/v1/models`, { headers });
      t.equal(response.status, 200);
    },
  );

  t.test("makes another account if the first one has another address now", async (t) => {
    const move = { to: "mine@example.com", reason: "a test" };
    const moved = await admin(gateway, "POST", `/accounts/${await accountId()}/email`, move);
    t.equal(moved.status, 200);
    await gateway.stop();
    await startAgain();
    t.match(await greeting(), /balance +100,000/);
  });
});

t.test("demo: does not mention the dashboard if it is off", async (t) => {
  const gateway = await startGateway({ plugins: { demo: true, dashboard: false } });
  try {
    await until("it is printed", () => gateway.logs.includes("npm run admin -- help"));
    t.ok(!gateway.logs.includes("/dashboard"));
  } finally {
    await gateway.close();
  }
});
