import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { endpoints } from "../../../core/contract/endpoint.ts";
import { recordOf } from "../../../core/contract/found-call.ts";
import { fieldsIn, usageColumns, usageFieldList } from "../../../core/contract/usage-fields.ts";
import { usageJson } from "../../../core/contract/usage-json.ts";
import { logCall } from "../../../core/http/call-log.ts";
import { HttpCall } from "../../../core/http/http-call.ts";
import { entryOf } from "../../../core/money/entry.ts";
import { csvColumns } from "../../../plugins/dashboard/csv.ts";
import { recordedLog } from "../../support/log.ts";
import { posting } from "../../support/posting.ts";

describe("the table of usage fields", () => {
  const record = recordOf(entryOf("1", posting({ callId: "c", accountId: "a" }), 7, 0));

  it("names every field and column once", () => {
    for (const key of ["name", "column", "json"] as const) {
      const names = usageFieldList.map((field) => field[key]);
      assert.deepEqual(names, [...new Set(names)], key);
    }
  });

  it("makes the JSON of both APIs, the select list and the record", () => {
    for (const api of ["admin", "api"] as const) {
      const names = fieldsIn(api).map(({ json }) => json);
      assert.deepEqual(Object.keys(usageJson(record, api)), names);
    }
    assert.deepEqual(
      Object.keys(record),
      usageFieldList.map(({ name }) => name),
    );
    const selected = usageColumns(usageFieldList, "t").match(/(?<=as ")\w+/g);
    assert.deepEqual(selected, Object.keys(record));
  });

  it("shows the operator everything, and the customer neither the provider nor what it costs", () => {
    assert.equal(fieldsIn("admin").length, usageFieldList.length);
    const hidden = usageFieldList.filter(({ places }) => !places.includes("api"));
    assert.deepEqual(
      hidden.map(({ column }) => column),
      [
        ...["account_id", "upstream", "operator_cost", "operator_currency", "operator_rate"],
        ...["costs_version", "limits"],
      ],
    );
  });

  it("makes the columns of the CSV, but for those that it writes in another form", () => {
    const own = ["time_utc", "time_vietnam", "key_name", "discount_percent"];
    const names = fieldsIn("csv").map(({ json }) => json);
    assert.deepEqual(
      csvColumns.filter((column) => !names.includes(column)),
      own,
    );
    assert.deepEqual(
      names.filter((name) => !csvColumns.includes(name)),
      ["at", "discount_bps"],
    );
  });

  it("names the amounts in the log line of a call", () => {
    const [endpoint] = endpoints;
    assert.ok(endpoint);
    const call = new HttpCall("id", 0, 0, endpoint, {});
    const discounts = { account: 100 };
    const tariff = { unit: "mtok", microVnd: 36_000, discountBps: 100, discounts } as const;
    const held = {
      tariff: { ...tariff, catalogueVersion: "0123abcd" },
      ...{ baseUnits: 0, outputTokens: 0, outputTokensMax: 0 },
    };
    let line = "";
    const write = (text: string) => {
      line = text;
    };
    const log = Object.assign(recordedLog().log, {
      line: write,
      flush: () => {},
      setLevel: () => {},
    });
    logCall(
      { ...call, held, usage: undefined, outcome: "complete" },
      { now: () => 1, monotonic: () => 0 },
      log,
    );
    const written = JSON.parse(line);
    const names = usageFieldList.map(({ json }) => json);
    const other = ["level", "time", "msg", "attempts"];
    for (const name of Object.keys(written)) {
      assert.ok(names.includes(name) || other.includes(name), name);
    }
    assert.equal(written.unit_price_vnd, "36000");
    assert.deepEqual(written.discounts, discounts);
  });
});
