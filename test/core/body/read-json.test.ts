import assert from "node:assert/strict";
import t from "tap";
import { readJson } from "../../../core/body/request-body.ts";
import { JSON_MAX } from "../../../core/process/json.ts";
import { isRefusal } from "../../../core/wire/refusal.ts";

t.test("the depth of a request body", async (t) => {
  for (const [open, close] of [
    ["[", "]"],
    ['{"a":', "}"],
  ] as const) {
    for (const padding of [0, 1_000, 5_000]) {
      t.test(`has one limit for every size: ${open} with ${padding} bytes more`, async (t) => {
        const body = (levels: number) => {
          const inner = levels - 1;
          const value = `${open.repeat(inner)}1${close.repeat(inner)}`;
          return Buffer.from(`{"x":${value}}${" ".repeat(padding)}`);
        };
        t.ok(!isRefusal(readJson(body(JSON_MAX.levels))));
        const refused = readJson(body(JSON_MAX.levels + 1));
        assert.ok(isRefusal(refused));
        t.equal(refused.status, 400);
        t.match(refused.message, /nested too deeply/);
      });
    }
  }
});

t.test(
  "a body may have as many tokens as OpenAI takes for embeddings, but not more of others",
  async (t) => {
    const body = (value: string, count: number, between = ",") =>
      readJson(Buffer.from(`{"input":[[${Array(count).fill(value).join(between)}]]}`));
    t.ok(!isRefusal(body("100256", 300_000)));
    t.ok(!isRefusal(body("100256", 300_000, ", ")), "as Python writes them");
    t.match(body("0", 500_000), { status: 413 });
    for (const value of ['""', "{}", "null"]) t.match(body(value, 100_000), { status: 413 }, value);
  },
);

t.test("a body with thousands of fields is refused: each change of one may copy all", async (t) => {
  const body = (count: number) => {
    const fields = Array.from({ length: count }, (_, at) => `"a${at}":1`).join();
    return readJson(Buffer.from(`{${fields}}`));
  };
  t.ok(!isRefusal(body(JSON_MAX.fields)));
  t.match(body(JSON_MAX.fields + 1), { status: 400, message: /too many fields/ });
});

t.test(
  "a number with more digits than a parser keeps does not leave as it came, since no bound counts them",
  async (t) => {
    const leaves = (number: string) => {
      const came = Buffer.from(`{"model":"m","tools":[{"enum":[ ${number} ,1]}],"n":${number} }`);
      const body = readJson(came);
      assert.ok(!isRefusal(body));
      return body.bytes().equals(came);
    };
    t.equal(leaves("9".repeat(25)), true);
    t.equal(leaves("9".repeat(26)), false);
    t.equal(leaves(`-1.${"0".repeat(4_000)}e1`), false);
    t.equal(leaves(`1${" ".repeat(40)}`), true);
  },
);
