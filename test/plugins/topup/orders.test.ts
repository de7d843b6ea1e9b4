import t from "tap";
import { isObject } from "../../../core/process/json.ts";
import { createCustomer } from "../../support/admin.ts";
import { bootTopups } from "./in-process.ts";
import { as, BANK, notify, order, transfer } from "./topups.ts";

const MINUTE_MS = 60_000;

t.test("an order", async (t) => {
  const gateway = await bootTopups({ open_orders_max: 3, order_valid_minutes: 60 });
  t.teardown(() => gateway.close());

  t.test("has what a banking app needs, as text and as a QR picture", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const made = await as(gateway, accountId, "POST", "/top-ups", { amount_vnd: 123_456 });
    t.equal(made.status, 201);
    const { id, code, created_at, expires_at, qr_text, qr_svg, ...rest } = made.body;
    t.match(String(code), /^TG[34679ACDEFGHJKMNPQRTUVWXY]{8}$/);
    t.strictSame(rest, {
      status: "open",
      amount_vnd: "123456",
      received_vnd: "0",
      bonus_vnd: "0",
      missing_vnd: "123456",
      expected_bonus_vnd: "0",
      payments: [],
      content: code,
      bank: BANK,
      cancelled_at: null,
      paid_at: null,
    });
    const validMs = Date.parse(String(expires_at)) - Date.parse(String(created_at));
    t.equal(validMs, 60 * MINUTE_MS);
    // The bank, the account, the amount and the code, each with its length.
    t.match(
      String(qr_text),
      new RegExp(
        `^000201010212.*0006970436${"0110"}0123499999.*5406123456.*0810${String(code)}6304`,
      ),
    );
    t.match(String(qr_svg), /^<svg /);
    const { body } = await as(gateway, accountId, "GET", `/top-ups/${String(id)}`);
    t.strictSame(body, made.body);
  });

  t.test(
    "has the word before its code without which SePay does not see the transfer",
    async (t) => {
      const prefixed = await bootTopups({ content_prefix: "SEVQR4TEST", order_prefix: "NAPABC" });
      t.teardown(() => prefixed.close());
      const { accountId } = await createCustomer(prefixed);
      const { id, code, content, qr_text } = await order(prefixed, accountId);
      t.equal(content, `SEVQR4TEST ${code}`);
      t.match(qr_text, `0825SEVQR4TEST ${code}6304`);
      await notify(
        prefixed,
        transfer({ content: `CT DEN:1234 ${String(content).replace(" ", "")}` }),
      );
      const { body } = await as(prefixed, accountId, "GET", `/top-ups/${id}`);
      t.equal(body["status"], "paid");
    },
  );

  t.test("accepts an amount within the limits, in whole đ", async (t) => {
    const { accountId } = await createCustomer(gateway);
    for (const amount_vnd of [50_000, 499_999_999]) {
      const { status } = await as(gateway, accountId, "POST", "/top-ups", { amount_vnd });
      t.equal(status, 201, String(amount_vnd));
    }
    for (const amount_vnd of [49_999, 500_000_000, 0, -50_000, 50_000.5, "50000", null, 1e300]) {
      const { status, body } = await as(gateway, accountId, "POST", "/top-ups", { amount_vnd });
      t.equal(status, 400, String(amount_vnd));
      t.ok(isObject(body["error"]) && body["error"]["param"] === "amount_vnd");
    }
    for (const body of [{}, [], "x", { amount_vnd: 50_000, code: "TG34679ACD" }]) {
      t.equal((await as(gateway, accountId, "POST", "/top-ups", body)).status, 400);
    }
  });

  t.test(
    "counts against an exact limit of open orders, even for many requests at once",
    async (t) => {
      const { accountId } = await createCustomer(gateway);
      const made = await Promise.all(
        Array.from({ length: 12 }, () =>
          as(gateway, accountId, "POST", "/top-ups", { amount_vnd: 50_000 }),
        ),
      );
      const open = made.filter(({ status }) => status === 201);
      t.equal(open.length, 3);
      for (const { status, body } of made) {
        if (status === 201) continue;
        t.equal(status, 409);
        t.ok(isObject(body["error"]) && body["error"]["code"] === "too_many_open_orders");
      }
      const [paid, cancelled] = open;
      await notify(gateway, transfer({ content: paid?.body["code"] }));
      await order(gateway, accountId);
      await as(gateway, accountId, "POST", `/top-ups/${String(cancelled?.body["id"])}/cancel`, {});
      await order(gateway, accountId);
      const full = await as(gateway, accountId, "POST", "/top-ups", { amount_vnd: 50_000 });
      t.equal(full.status, 409);
      gateway.clock.offsetMs = 61 * MINUTE_MS;
      await order(gateway, accountId);
      gateway.clock.offsetMs = 0;
    },
  );

  t.test("counts against a limit of a hundred a day, even if it is cancelled", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const made = async () => as(gateway, accountId, "POST", "/top-ups", { amount_vnd: 50_000 });
    for (let n = 0; n < 100; n++) {
      const { status, body } = await made();
      t.equal(status, 201, `order ${n}`);
      await as(gateway, accountId, "POST", `/top-ups/${String(body["id"])}/cancel`, {});
    }
    const { status, body } = await made();
    t.equal(status, 429);
    t.ok(isObject(body["error"]) && body["error"]["code"] === "too_many_orders");
  });

  t.test("can be cancelled while it is open, and not afterwards", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const cancel = (id: string) => as(gateway, accountId, "POST", `/top-ups/${id}/cancel`, {});
    const first = await order(gateway, accountId);
    for (let n = 0; n < 2; n++) {
      const { status, body } = await cancel(first.id);
      t.strictSame([status, body["status"]], [200, "cancelled"]);
      t.ok(body["cancelled_at"]);
    }
    const paid = await order(gateway, accountId);
    await notify(gateway, transfer({ content: paid.code }));
    const late = await order(gateway, accountId);
    t.equal((await cancel(paid.id)).status, 409);
    gateway.clock.offsetMs = 61 * MINUTE_MS;
    const { status, body } = await cancel(late.id);
    t.equal(status, 409);
    t.ok(isObject(body["error"]) && body["error"]["code"] === "order_not_open");
    gateway.clock.offsetMs = 0;
  });

  t.test("is listed newest first, page by page, without its picture", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const codes: string[] = [];
    for (let n = 0; n < 6; n++) {
      const made = await order(gateway, accountId);
      codes.unshift(made.code);
      await as(gateway, accountId, "POST", `/top-ups/${made.id}/cancel`, {});
    }
    const seen: unknown[] = [];
    let before: unknown = null;
    do {
      const query: string = before === null ? "" : `&before=${String(before)}`;
      const { body } = await as(gateway, accountId, "GET", `/top-ups?limit=2${query}`);
      const data = Array.isArray(body["data"]) ? body["data"].filter(isObject) : [];
      t.equal(data.length, 2);
      for (const one of data) {
        seen.push(one["code"]);
        t.ok(!("qr_svg" in one) && !("qr_text" in one));
      }
      before = body["next"];
    } while (before !== null);
    t.strictSame(seen, codes);
    for (const query of ["limit=0", "limit=101", "limit=x", "before=x", "state=open"]) {
      t.equal((await as(gateway, accountId, "GET", `/top-ups?${query}`)).status, 400, query);
    }
  });

  t.test(
    "cannot be read, cancelled or listed by another customer or without a session",
    async (t) => {
      const mine = await createCustomer(gateway);
      const theirs = await createCustomer(gateway);
      const { id, code } = await order(gateway, mine.accountId);
      for (const [method, path] of [
        ["GET", `/top-ups/${id}`],
        ["POST", `/top-ups/${id}/cancel`],
        ["GET", `/top-ups/${code}`],
        ["GET", "/top-ups/00000000-0000-0000-0000-000000000000"],
      ] as const) {
        const body = method === "POST" ? {} : undefined;
        const foreign = await as(gateway, theirs.accountId, method, path, body);
        t.equal(foreign.status, 404, path);
        t.ok(!JSON.stringify(foreign.body).includes(mine.accountId));
        t.equal((await as(gateway, undefined, method, path, body)).status, 401, path);
      }
      const list = await as(gateway, theirs.accountId, "GET", `/top-ups?before=${id}`);
      t.strictSame(list.body, { data: [], next: null });
      for (const path of ["/top-ups", "/top-ups/settings", "/promotions"]) {
        t.equal((await as(gateway, undefined, "GET", path)).status, 401, path);
      }
      const { body } = await as(gateway, mine.accountId, "GET", `/top-ups/${id}`);
      t.equal(body["status"], "open");
    },
  );

  t.test("follows settings that customers can read", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const { body } = await as(gateway, accountId, "GET", "/top-ups/settings");
    t.strictSame(body, {
      minimum_vnd: "50000",
      maximum_vnd: "499999999",
      order_prefix: "TG",
      bank: BANK,
      order_valid_minutes: 60,
      promotions: {
        lifetime: { threshold_vnd: "10000000", discount_bps: 100 },
        daily: { threshold_vnd: "100000", discount_bps: 100 },
        bonuses: [],
      },
    });
  });
});
