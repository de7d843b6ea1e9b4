import assert from "node:assert/strict";
import t from "tap";
import { Catalogue } from "../../../core/catalogue/catalogue.ts";
import { endpoints } from "../../../core/catalogue/endpoint.ts";
import { factorsOf } from "../../../core/catalogue/price-factors.ts";
import { logCall } from "../../../core/http/call-log.ts";
import { HttpCall } from "../../../core/http/http-call.ts";
import { entryOf } from "../../../core/money/entry.ts";
import { recordOf } from "../../../core/money/found-call.ts";
import { Tariff } from "../../../core/money/tariff.ts";
import { fieldsIn, usageColumns, usageFieldList } from "../../../core/money/usage-fields.ts";
import { usageJson } from "../../../core/usage/usage-json.ts";
import { csvColumns } from "../../../plugins/dashboard/csv.ts";
import { recordedLog } from "../../support/log.ts";
import { posting } from "../../support/posting.ts";

t.test("the table of usage fields", async (t) => {
  const record = recordOf(entryOf("1", posting({ callId: "c", accountId: "a" }), 7, 0));

  t.test("has every field and column once", async (t) => {
    for (const key of ["name", "column", "json"] as const) {
      const names = usageFieldList.map((field) => field[key]);
      t.strictSame(names, [...new Set(names)], key);
    }
  });

  t.test("defines the JSON of both APIs, the select list and the record", async (t) => {
    for (const api of ["admin", "api"] as const) {
      const names = fieldsIn(api).map(({ json }) => json);
      t.strictSame(Object.keys(usageJson(record, api)), names);
    }
    t.strictSame(
      Object.keys(record),
      usageFieldList.map(({ name }) => name),
    );
    const selected = usageColumns(usageFieldList, "t").match(/(?<=as ")\w+/g);
    t.strictSame(selected, Object.keys(record));
  });

  t.test(
    "shows operators everything, and hides the provider and its cost from customers",
    async (t) => {
      t.equal(fieldsIn("admin").length, usageFieldList.length);
      const hidden = usageFieldList.filter(({ places }) => !places.includes("api"));
      t.strictSame(
        hidden.map(({ column }) => column),
        [...["account_id", "upstream", "purses", "provider_cost", "held"]],
      );
    },
  );

  t.test("defines the columns of the CSV, except those in another format", async (t) => {
    const own = ["time_utc", "time_vietnam", "key_name", "discount_percent"];
    const names = fieldsIn("csv").map(({ json }) => json);
    t.strictSame(
      csvColumns.filter((column) => !names.includes(column)),
      own,
    );
    t.strictSame(
      names.filter((name) => !csvColumns.includes(name)),
      ["at", "discount_bps"],
    );
  });

  t.test("names the amounts in the log line of a call", async (t) => {
    const [endpoint] = endpoints;
    assert.ok(endpoint);
    const call = new HttpCall("id", 0, 0, endpoint, {});
    const discounts = { account: 100 };
    const factors = factorsOf({ cached_input: 0.1, output: 4 });
    const tariff = {
      unit: "mtok",
      microVnd: 36_000,
      factors,
      discountBps: 100,
      discounts,
    } as const;
    const held = {
      tariff: new Tariff({ ...tariff, catalogueVersion: "0123abcd" }),
      catalogue: new Catalogue([]),
      ...{ baseQuantity: 0, feesMicroVnd: 0, outputTokens: 0, outputTokensMax: 0 },
    };
    const reason = 'no credentials: "why"';
    const failedAttempts = [
      { upstream: "main", model: "m", key: "", cause: "credentials", reason, lost: false },
    ];
    let line = "";
    const write = (text: string) => {
      line = text;
    };
    const log = Object.assign(recordedLog().log, {
      line: write,
      flush: () => {},
      setLevel: () => {},
      lostLines: () => 0,
    });
    logCall(
      { ...call, failedAttempts, held, usage: undefined, outcome: "complete" },
      { now: () => 1, monotonic: () => 0 },
      log,
    );
    const written = JSON.parse(line);
    const names = usageFieldList.map(({ json }) => json);
    const other = ["level", "time", "pid", "msg", "attempts", "failed_attempts"];
    for (const name of Object.keys(written)) {
      t.ok(names.includes(name) || other.includes(name), name);
    }
    t.equal(written.pid, process.pid);
    t.equal(written.unit_price_vnd, "36000");
    t.strictSame(written.failed_attempts, failedAttempts);
    t.strictSame(written.factors, { cached_input: 0.1, output: 4 });
    t.strictSame(written.discounts, discounts);
  });
});
