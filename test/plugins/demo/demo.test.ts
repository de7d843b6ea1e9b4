import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { admin, committedWallet } from "../../support/admin.ts";
import { BrowserSession } from "../../support/browser-session.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";

const run = promisify(execFile);

describe("demo: the first start of the default config", () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({ plugins: { demo: true }, firstStart: true });
  });
  after(() => gateway.close());

  /** What the last start has printed. */
  async function greeting(): Promise<string> {
    let text = "";
    await until("it is printed", () => {
      text = gateway.logs.slice(gateway.logs.lastIndexOf("Tollgate takes calls at"));
      return text.includes("npm run admin -- help");
    });
    return text;
  }

  const keyIn = (text: string) => /demo key +(tg-[\w-]+)/.exec(text)?.[1];
  const accountIn = (text: string) => /--account (\S+)/.exec(text)?.[1] ?? "";

  it("prints curl lines that work as they stand, and a balance that they come out of", async () => {
    const text = await greeting();
    assert.match(text, /balance +100000 đ/);
    assert.ok(text.includes(gateway.url));
    const lines = text.match(/^ {2}curl [\s\S]*?-d '[^']*'$/gm) ?? [];
    assert.equal(lines.length, 2);
    const [whole, streamed] = await Promise.all(
      lines.map((line) => run("sh", ["-c", `${line} -s`])),
    );
    assert.equal(JSON.parse(whole?.stdout ?? "").stop_reason, "end_turn");
    assert.match(streamed?.stdout ?? "", /event: message_stop/);
    const { balance } = await committedWallet(gateway, accountIn(text));
    assert.ok(Number(balance) < 100_000 && Number(balance) > 99_990, balance);
  });

  it("tells how to sign in on the dashboard", async () => {
    const password = readFileSync(join(gateway.data, "demo-password"), "utf8").trim();
    const line = `${gateway.url}/dashboard, sign in as demo@tollgate.local / ${password}\n`;
    assert.ok((await greeting()).includes(line));
  });

  it("lets its account sign in by a password that only the owner of the data can read", async () => {
    const file = join(gateway.data, "demo-password");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const password = readFileSync(file, "utf8").trim();
    const session = new BrowserSession(gateway);
    const { status, body } = await session.signIn("demo@tollgate.local", password);
    assert.equal(status, 200);
    assert.deepEqual(
      [body.account.id, body.account.email_verified],
      [accountIn(await greeting()), true],
    );
    const [key] = (await session.get("/keys")).body.data;
    const revealed = await session.post(`/keys/${key.id}/reveal`);
    assert.equal(revealed.body.key, keyIn(await greeting()));
  });

  it("keeps account, money and key over a restart", async () => {
    const before = await greeting();
    await gateway.kill9();
    await gateway.start();
    const text = await greeting();
    const session = new BrowserSession(gateway);
    const password = readFileSync(join(gateway.data, "demo-password"), "utf8").trim();
    assert.equal((await session.signIn("demo@tollgate.local", password)).status, 200);
    assert.equal(keyIn(text), keyIn(before));
    assert.equal(accountIn(text), accountIn(before));
    assert.match(text, /balance +9999\d/);
    const { body } = await admin(gateway, "GET", "/accounts");
    assert.ok(Array.isArray(body["list"]) && body["list"].length === 1);
  });

  it("keeps the key to the owner, and makes another where its file is gone", async () => {
    const file = join(gateway.data, "demo-key");
    const before = readFileSync(file, "utf8");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(before.trim(), keyIn(await greeting()));
    await gateway.stop();
    rmSync(file);
    await gateway.start();
    const key = keyIn(await greeting());
    assert.equal(readFileSync(file, "utf8").trim(), key);
    assert.notEqual(key, before.trim());
    const headers = { "x-api-key": key ?? "" };
    const response = await fetch(`${gateway.url}/v1/models`, { headers });
    assert.equal(response.status, 200);
  });
});

it("demo: mentions no dashboard where there is none", async () => {
  const gateway = await startGateway({ plugins: { demo: true, dashboard: false } });
  try {
    await until("it is printed", () => gateway.logs.includes("npm run admin -- help"));
    assert.ok(!gateway.logs.includes("/dashboard"));
  } finally {
    await gateway.close();
  }
});
