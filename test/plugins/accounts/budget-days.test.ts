import t from "tap";
import { arrayOf } from "../../../core/process/json.ts";
import { dayOf, endOfMonth } from "../../../core/process/vietnam-day.ts";
import { admin, createCustomer } from "../../support/admin.ts";
import { ask, bodyOf } from "../../support/ask.ts";
import { startTestSimulator } from "../../support/simulator.ts";
import { until } from "../../support/until.ts";
import { bootInProcess } from "./in-process.ts";

const PATH = "/v1/chat/completions";
const BODY = bodyOf(PATH, { output_tokens: 1 }, { model: "req/gpt-5.6-sol", stream: false });
const PRICE_VND = 1_150;
const HOUR_MS = 3_600_000;

t.test(
  "the budget of a day comes back the next day in Vietnam, that of a month the next month",
  async (t) => {
    const simulator = await startTestSimulator();
    const world = await bootInProcess(simulator.port);
    t.teardown(() => Promise.all([world.close(), simulator.stop()]));
    const passMonth = () =>
      world.pass(endOfMonth(dayOf(new Date(world.now()))).getTime() - world.now());
    const { key, keyId, accountId } = await createCustomer(world, { creditVnd: 100_000 });
    const limits = { day_vnd: PRICE_VND, month_vnd: 2 * PRICE_VND };
    const shown = await admin(world, "POST", `/keys/${keyId}/limits`, limits);
    t.equal(shown.status, 200);
    const call = async () => {
      const response = await ask(world.url, key, PATH, BODY);
      const text = await response.text();
      return response.status === 200 ? "200" : /of its budget of [^,]*/.exec(text)?.[0];
    };
    const ofDay = `of its budget of ${PRICE_VND} đ a day`;
    const withBudgets = async () =>
      (await admin(world, "GET", "/accounts?having=budgets")).body["list"];
    t.strictSame(await withBudgets(), []);
    // The first of a month, at 01:00.
    passMonth();
    world.pass(HOUR_MS);
    t.strictSame([await call(), await call()], ["200", ofDay]);
    await until("the call is in the ledger", async () => arrayOf(await withBudgets()).length > 0);
    t.match(await withBudgets(), [{ id: accountId }]);
    world.pass(22 * HOUR_MS);
    t.equal(await call(), ofDay);
    world.pass(2 * HOUR_MS);
    t.strictSame([await call(), await call()], ["200", ofDay]);
    world.pass(24 * HOUR_MS);
    t.equal(await call(), `of its budget of ${2 * PRICE_VND} đ a month`);
    const { body } = await admin(world, "POST", `/keys/${keyId}/limits`, { paused: null });
    t.match(body["budgets"], [{ spent_vnd: "0" }, { spent_vnd: String(2 * PRICE_VND) }]);
    passMonth();
    t.strictSame([await call(), await call()], ["200", ofDay]);
  },
);
