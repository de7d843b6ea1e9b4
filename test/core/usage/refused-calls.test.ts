import t from "tap";
import type { EndedHttpCall } from "../../../core/http/http-call.ts";
import { newId } from "../../../core/plugin/index.ts";
import { RefusedCallsCounter } from "../../../core/usage/refused-calls.ts";
import { refuse } from "../../../core/wire/refusal.ts";
import { newCall } from "../../support/call.ts";
import { recordedLog } from "../../support/log.ts";
import { keyOf } from "../../support/plugin-desk.ts";
import { until } from "../../support/until.ts";

const AT = Date.UTC(2026, 10, 23, 3);

/** A database that keeps the parameters of its statements, or fails. */
class Written {
  readonly counts: Record<string, unknown>[] = [];
  readonly last: { calls: { callId: string }[] }[] = [];
  statements = 0;
  deletes = 0;
  isAway = false;
  isSlowToDelete = false;

  async query<Row extends object>(
    text: string,
    parameters: readonly unknown[] = [],
  ): Promise<Row[]> {
    if (this.isAway) throw new Error("the ledger is down");
    if (text.startsWith("delete")) {
      this.deletes += 1;
      if (this.isSlowToDelete) throw new Error("the statement took too long");
    }
    if (!text.startsWith("with counted")) return [];
    this.statements += 1;
    this.counts.push(...JSON.parse(String(parameters[0])));
    this.last.push(...JSON.parse(String(parameters[1])));
    return [];
  }
}

function stage() {
  const database = new Written();
  const clock = { now: () => AT, monotonic: () => 0 };
  const { log, lines } = recordedLog();
  return { database, lines, counter: new RefusedCallsCounter({ database, clock, log }) };
}

function refusedCall(changes: object): EndedHttpCall {
  const call = Object.assign(newCall(), { id: newId(AT), at: AT, key: keyOf(), status: 402 });
  return Object.assign(call, {
    refusal: refuse.insufficientBalance("Top up."),
    ...changes,
  }) as EndedHttpCall;
}

const bad = (param: string) => ({ status: 400, refusal: refuse.badRequest("Wrong.", param) });

t.test("refused calls", async (t) => {
  t.test("are counted by key, status and cause, and written in one statement", async (t) => {
    const { counter, database } = stage();
    for (let call = 0; call < 1_000; call++) counter.count(refusedCall({}));
    counter.count(refusedCall(bad("messages[3].content")));
    counter.count(refusedCall({ key: keyOf({ id: "L", accountId: "B" }) }));
    await counter.stop();
    t.equal(database.statements, 1);
    const shown = database.counts.map(({ accountId, keyId, day, status, cause, calls }) =>
      [accountId, keyId, day, status, cause, calls].join(" "),
    );
    t.strictSame(shown, [
      "A K 2026-11-23 402 insufficient_balance 1000",
      "A K 2026-11-23 400 messages 1",
      "B L 2026-11-23 402 insufficient_balance 1",
    ]);
    t.equal(database.last[0]?.calls.length, 20, "only the last ones");
  });

  t.test("count for the account of a key that was refused", async (t) => {
    const { counter, database } = stage();
    const refusal = refuse.unauthenticated("Revoked.", { code: "invalid_api_key" });
    counter.count(refusedCall({ key: undefined, refusedKey: keyOf(), status: 401, refusal }));
    await counter.stop();
    t.match(database.counts, [{ accountId: "A", status: 401, cause: "invalid_api_key", calls: 1 }]);
  });

  t.test("without a key, and calls that an upstream was tried for, are not counted", async (t) => {
    const { counter, database } = stage();
    const stranger = { key: undefined, status: 401, refusal: refuse.unauthenticated("No.") };
    for (let call = 0; call < 1_000; call++) counter.count(refusedCall(stranger));
    counter.count(refusedCall({ attempts: 1, status: 502 }));
    counter.count(refusedCall({ refusal: undefined, status: 200 }));
    await counter.stop();
    t.equal(database.statements, 0);
  });

  t.test("of a client that makes up fields have one cause", async (t) => {
    const { counter, database } = stage();
    for (let call = 0; call < 1_000; call++) counter.count(refusedCall(bad(`made_up_${call}`)));
    await counter.stop();
    t.strictSame(
      database.counts.map(({ cause, calls }) => [cause, calls]),
      [["invalid_request_error", 1_000]],
    );
  });

  t.test("take bounded memory, whatever their statuses are", async (t) => {
    const { counter, database } = stage();
    for (let call = 0; call < 5_000; call++)
      counter.count(refusedCall({ key: keyOf({ id: `K${call}` }) }));
    for (let call = 0; call < 20_000; call++) {
      counter.count(refusedCall({ key: keyOf({ accountId: `A${call}` }) }));
    }
    await counter.stop();
    const ofOne = database.counts.filter(({ accountId }) => accountId === "A");
    t.equal(ofOne.length, 101);
    t.equal(
      ofOne.reduce((sum, { calls }) => sum + Number(calls), 0),
      5_000,
    );
    t.strictSame(ofOne.at(-1)?.["cause"], "other");
    t.equal(new Set(database.counts.map(({ accountId }) => accountId)).size, 10_000);
  });

  t.test("are written though old ones cannot be deleted, which is tried once a day", async (t) => {
    const { counter, database, lines } = stage();
    database.isSlowToDelete = true;
    for (let write = 0; write < 3; write++) {
      counter.count(refusedCall({}));
      await counter.stop();
    }
    t.equal(database.statements, 3);
    t.equal(database.deletes, 1);
    t.match(lines[0]?.["msg"], /cannot delete old counts of refused calls/);
  });

  t.test("are written while the gateway runs", async () => {
    const { counter, database } = stage();
    counter.count(refusedCall({}));
    counter.start();
    await until("they are written", () => database.statements === 1);
    await counter.stop();
  });

  t.test("delay no stop of a gateway whose ledger does not reply", async (t) => {
    const { counter, database } = stage();
    database.query = () => new Promise(() => {});
    counter.count(refusedCall({}));
    counter.start();
    await counter.stop();
    t.equal(database.statements, 0);
  });

  t.test("that come while a statement fails are added to its own", async (t) => {
    const { counter, database } = stage();
    const { query } = database;
    database.query = async () => {
      for (let call = 0; call < 3; call++) counter.count(refusedCall({}));
      counter.count(refusedCall(bad("model")));
      database.query = query;
      throw new Error("the connection broke");
    };
    counter.count(refusedCall({}));
    await counter.stop();
    await counter.stop();
    t.strictSame(
      database.counts.map(({ cause, calls }) => [cause, calls]),
      [
        ["insufficient_balance", 4],
        ["model", 1],
      ],
    );
  });

  t.test("wait while the ledger is down, and are added to what comes since", async (t) => {
    const { counter, database, lines } = stage();
    counter.count(refusedCall({}));
    database.isAway = true;
    const stopped = counter.stop();
    counter.count(refusedCall({}));
    counter.count(refusedCall(bad("model")));
    await stopped;
    t.match(lines[0]?.["msg"], /cannot record refused calls/);
    database.isAway = false;
    await counter.stop();
    t.strictSame(
      database.counts.map(({ cause, calls }) => [cause, calls]),
      [
        ["insufficient_balance", 2],
        ["model", 1],
      ],
    );
    t.equal(database.last[0]?.calls.length, 3);
  });
});
