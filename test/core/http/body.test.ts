import t from "tap";
import { isRefusal } from "../../../core/contract/refusal.ts";
import { parseJsonBody } from "../../../core/http/body.ts";
import { JSON_LEVELS_MAX } from "../../../core/process/json.ts";

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
        t.ok(!isRefusal(parseJsonBody(body(JSON_LEVELS_MAX))));
        const refused = parseJsonBody(body(JSON_LEVELS_MAX + 1));
        t.ok(isRefusal(refused));
        t.equal(refused.status, 400);
        t.match(refused.message, /nested too deeply/);
      });
    }
  }
});
