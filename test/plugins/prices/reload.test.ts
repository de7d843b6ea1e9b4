import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { isObject } from "../../../core/process/json.ts";
import { admin, committedWallet, createCustomer, usage, wallet } from "../../support/admin.ts";
import { catalogueOfTests } from "../../support/catalogue.ts";
import type { TestGateway } from "../../support/gateway.ts";
import { type Production, startProduction } from "../../support/production.ts";
import { bodies, get, openStream, paths, post } from "../../support/requests.ts";
import { until } from "../../support/until.ts";
import { runCli } from "../admin/cli-runs.ts";

type Entry = Record<string, unknown>;

const MODEL = "gpt-4.1-nano";

t.test("prices that change while two gateways serve", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const catalogue = join(folder, "catalogue.json");
  const file = JSON.parse(readFileSync(catalogueOfTests(), "utf8")) as { models: Entry[] };
  const priceOf = (id: string) =>
    Number(file.models.find((one) => one["id"] === id)?.["price_vnd_per_mtok"]);
  const old = priceOf(MODEL);
  let production: Production;
  let first: TestGateway;
  let other: TestGateway;

  /** Writes the catalogue with changes to the entry of a model. */
  function write(changes: Entry, models: readonly Entry[] = file.models): void {
    const changed = models.map((one) => (one["id"] === MODEL ? { ...one, ...changes } : one));
    writeFileSync(catalogue, JSON.stringify({ ...file, models: changed }));
  }

  async function command(...args: string[]) {
    const env = { GATEWAY_URL: first.url, GATEWAY_ADMIN_TOKEN: first.adminToken };
    const { code, stdout, stderr } = await runCli([...args, "--json"], { env });
    return { code, stderr, json: code === 0 ? JSON.parse(stdout) : undefined };
  }

  const changesIn = (json: { changes: Entry[] }) =>
    json.changes.map(({ model, kind, change, from, to, percent }) => [
      model,
      kind,
      change,
      from,
      to,
      percent,
    ]);

  async function pricing(gateway: TestGateway, key: string): Promise<Entry> {
    const { json } = await get(gateway, `/v1/models/${MODEL}`, { key });
    return json.pricing;
  }

  t.before(async () => {
    write({});
    production = await startProduction({ config: { catalogue } });
    [first, other] = production.gateways as [TestGateway, TestGateway];
  });
  t.teardown(async () => {
    await production.close();
    rmSync(folder, { recursive: true, force: true });
  });

  t.test("a check shows what a reload would change, and changes nothing", async (t) => {
    const gone = file.models.find(({ id }) => id === "glm-5.2");
    assert.ok(gone);
    const cached = { cached_input: 0.5 };
    const added = { ...file.models.find(({ id }) => id === "deepseek-v4-pro"), id: "brand-new" };
    write({ price_vnd_per_mtok: old * 2, price: cached }, [
      ...file.models.filter((one) => one !== gone),
      added,
    ]);
    const { json } = await command("reload", "--check");
    t.equal(json.applied, false);
    const price = String(priceOf("deepseek-v4-pro"));
    const seen = changesIn(json);
    for (const expected of [
      [MODEL, "input", "changed", String(old), String(old * 2), 100],
      [MODEL, "output", "changed", String(old), String(old * 2), 100],
      ["brand-new", "tokens", "new", null, price, null],
      [gone["id"], "tokens", "gone", String(gone["price_vnd_per_mtok"]), null, null],
    ]) {
      t.ok(
        seen.some((one) => JSON.stringify(one) === JSON.stringify(expected)),
        `${JSON.stringify(expected)} in ${JSON.stringify(seen)}`,
      );
    }
    t.notOk(
      seen.some(([model, kind]) => model === MODEL && kind === "cached_input"),
      "half of the double is what it was",
    );
    const { accountId: _, key } = await createCustomer(first);
    for (const gateway of [first, other]) {
      t.equal((await pricing(gateway, key))["vnd_per_mtok"], old);
    }
  });

  t.test("a reload applies it at every gateway, and is on record with who and when", async (t) => {
    write({ price_vnd_per_mtok: old + 100 });
    const reload = ["reload", "--reason", "the provider is dearer", "--announce"];
    const asked = await command(...reload);
    t.equal(asked.code, 2);
    const change = `${MODEL} tokens changed: ${old} → ${old + 100} đ \\(.* %\\)`;
    t.match(asked.stderr, new RegExp(`^${change}\nChange these prices .*, and mail customers`));
    t.equal((await pricing(first, (await createCustomer(first)).key))["vnd_per_mtok"], old);
    const { json } = await command(...reload, "--yes");
    t.equal(json.applied, true);
    // No customer of these gateways has a verified address.
    t.match(json, { announcement: /^prices-20\d\d-/, recipients: 0 });
    const percent = Math.round(10_000_00 / old) / 100;
    t.strictSame(changesIn(json), [
      [MODEL, "tokens", "changed", String(old), String(old + 100), percent],
    ]);
    t.match(json.announcement_vi, /Giá của các mô hình sau vừa thay đổi/);
    t.match(json.announcement_en, new RegExp(`${MODEL}: .* đ → .* đ per 1,000,000 tokens`));
    const { key } = await createCustomer(first);
    for (const gateway of [first, other]) {
      await until("both charge by the new price", async () => {
        return (await pricing(gateway, key))["vnd_per_mtok"] === old + 100;
      });
    }
    let history: Entry[] = [];
    await until("it is in the history", async () => {
      history = (await command("prices", "history", "--model", MODEL)).json;
      return history.length > 1;
    });
    const [newest, start] = history;
    t.match(newest, {
      kind: "tokens",
      from: String(old),
      to: String(old + 100),
      change: "changed",
    });
    t.match(start, { kind: "tokens", from: null, to: String(old), operator: "start" });
    t.equal(history.length, 2, "two gateways record a change once");
    const { list } = (await admin(first, "GET", "/actions")).body;
    const actions = (Array.isArray(list) ? list : []).filter(isObject);
    const recorded = actions.find(
      ({ action, reason, status }) =>
        action === "POST /admin/v1/reload" && reason && status === 200,
    );
    t.match(recorded, {
      reason: "the provider is dearer",
      status: 200,
      operator: newest?.["operator"],
    });
    const shown = actions.find(({ action }) => action === "prices changed");
    t.match(
      String(shown?.["sentence"]),
      `changed prices: ${MODEL} tokens: ${old} → ${old + 100} đ (+${percent} %)`,
    );
    t.match(JSON.stringify(shown?.["details"]), `changed: ${old} → ${old + 100} đ (+${percent} %)`);
  });

  t.test("a catalogue with an error is refused by name, and changes nothing", async (t) => {
    write({ price_vnd_per_mtok: 1, next_price: { from: "2026-02-30", vnd: 5000 } });
    for (const args of [["reload", "--check"], ["reload"]]) {
      const { code, stderr } = await command(...args);
      t.equal(code, 1);
      t.match(stderr, /catalogue\.json.*price_vnd_per_mtok/);
      t.match(stderr, /next_price\.from: expected a day or time in Vietnam/);
    }
    write({ next_price: { from: "2099-12-01", vnd: 5_000_000 } });
    t.match((await command("reload")).stderr, /next_price\.vnd: expected a price from/);
    const { key } = await createCustomer(first);
    t.equal((await pricing(first, key))["vnd_per_mtok"], old + 100);
  });

  t.test("an announced price is shown with its date, and withdrawn again", async (t) => {
    const next = { from: "2099-12-01", vnd: old + 200 };
    write({ price_vnd_per_mtok: old + 100, next_price: next });
    const { json } = await command("reload", "--yes");
    const from = "2099-11-30T17:00:00.000Z";
    t.match(json.changes, [{ kind: "tokens", change: "announced", takes_effect: from }]);
    t.match(json.announcement_vi, /Từ 00:00 ngày 01\/12\/2099 \(giờ Việt Nam\)/);
    t.match(json.announcement_en, /From 00:00 on 01\/12\/2099/);
    const { key } = await createCustomer(first);
    await until("both announce it", async () => {
      const shown = await Promise.all([first, other].map((one) => pricing(one, key)));
      return shown.every((one) => isObject(one["next"]) && one["next"]["from"] === from);
    });
    t.match(await pricing(first, key), {
      vnd_per_mtok: old + 100,
      next: { vnd_per_mtok: old + 200 },
    });
    const listed = (await get(first, "/account/v1/catalogue", undefined)).json.models;
    t.match(
      listed.find(({ id }: Entry) => id === MODEL),
      { price_vnd: old + 100, next_price: { from, price_vnd: old + 200 } },
    );
    write({ price_vnd_per_mtok: old + 100 });
    const after = (await command("reload", "--yes")).json;
    t.match(after.changes, [{ kind: "tokens", change: "withdrawn", to: null }]);
    t.equal(after.announcement_vi, undefined);
  });

  t.test("from its instant both charge it; a call held before keeps the old price", async (t) => {
    const customer = await createCustomer(first, { creditVnd: 100_000 });
    const held = await openStream(
      first,
      paths.chat,
      customer,
      bodies.chat({ delay_ms: 600_000, until: "changed" }, { stream: true }),
    );
    await until("its money is held", async () => {
      return (await wallet(first, customer.accountId)).held !== "0";
    });
    // The next whole second but one: the file names seconds.
    const fromMs = Math.ceil(Date.now() / 1000) * 1000 + 3000;
    const from = new Date(fromMs + 7 * 3_600_000).toISOString().slice(0, 19);
    write({ price_vnd_per_mtok: old + 100, next_price: { from, vnd: old + 300 } });
    const { json } = await command("reload", "--yes");
    t.equal(json.applied, true);
    const dearer = { first: 0, other: 0 };
    const wanted = String(old + 300);
    await until("both charge the new price", async () => {
      for (const [name, gateway] of Object.entries({ first, other })) {
        const startMs = Date.now();
        const { status, headers } = await post(gateway, paths.chat, customer, bodies.chat());
        assert.equal(status, 200);
        const price = headers.get("x-svc-price-vnd-per-mtok");
        if (price === wanted) dearer[name as keyof typeof dearer]++;
        // The other gateway may follow the reload after the instant, on a busy machine.
        if (startMs >= fromMs && (name === "first" || dearer.other > 0))
          assert.equal(price, wanted);
        if (Date.now() < fromMs) assert.equal(price, String(old + 100));
      }
      return dearer.first > 2 && dearer.other > 2;
    });
    await first.simulator.release("changed");
    await held.rest();
    await committedWallet(first, customer.accountId);
    const records = await usage(first, customer.accountId);
    const [long, ...rest] = records.filter(({ streamed }) => streamed === true);
    t.equal(rest.length, 0);
    t.equal(long?.["unit_price_vnd"], String(old + 100), "the call that was held before");
    const { key } = customer;
    t.strictSame((await pricing(first, key))["vnd_per_mtok"], old + 300);
    t.notOk((await pricing(first, key))["next"]);
  });

  t.test("a reload by a signal is on record too", async (t) => {
    let price = old;
    const change = () => {
      write({ price_vnd_per_mtok: price });
      first.signal("SIGHUP");
    };
    change();
    await until("it is in the history", async () => {
      const [newest] = (await command("prices", "history", "--model", MODEL)).json as Entry[];
      if (newest?.["to"] !== String(price)) return false;
      if (newest["operator"] === "SIGHUP") return true;
      // A gateway that follows the reload of before only now has read this file too, and was the first to record it.
      price += 100;
      change();
      return false;
    });
    t.pass();
  });
});
