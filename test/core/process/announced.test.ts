import t from "tap";
import { announced } from "../../../core/process/announced.ts";
import { recordedLog } from "../../support/log.ts";
import { until } from "../../support/until.ts";

const EVERY_MS = 10;

t.test("a slow step of the start", async (t) => {
  t.test("logs periodically what it waits for and why, until it is done", async (t) => {
    const { log, lines } = recordedLog();
    let reason = "Redis is down";
    let finish: (value: string) => void = () => {};
    const work = new Promise<string>((resolve) => {
      finish = resolve;
    });
    const waiting = announced(log, "the hold store", work, () => reason, EVERY_MS);
    await until("it says so", () => lines.length > 0);
    reason = "waiting for other gateways to join";
    await until("it says why now", () => lines.some((line) => line["reason"] === reason));
    finish("done");
    t.equal(await waiting, "done");
    const count = lines.length;
    await new Promise((resolve) => setTimeout(resolve, 5 * EVERY_MS));
    t.equal(lines.length, count);
    t.equal(lines[0]?.["msg"], "starting: waiting for the hold store");
  });

  t.test("rejects with the error of its work", async (t) => {
    const { log, lines } = recordedLog();
    await t.rejects(announced(log, "the ledger", Promise.reject(new Error("no ledger"))), {
      message: "no ledger",
    });
    t.strictSame(lines, []);
  });
});
