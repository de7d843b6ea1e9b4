import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isRefusal } from "../../../core/contract/refusal.ts";
import { parseJsonBody } from "../../../core/http/body.ts";
import { JSON_LEVELS_MAX } from "../../../core/process/json.ts";

describe("the depth of a request body", () => {
  for (const [open, close] of [
    ["[", "]"],
    ['{"a":', "}"],
  ] as const) {
    for (const padding of [0, 1_000, 5_000]) {
      it(`has one limit, whatever its size: ${open} with ${padding} bytes more`, () => {
        const body = (levels: number) => {
          const inner = levels - 1;
          const value = `${open.repeat(inner)}1${close.repeat(inner)}`;
          return Buffer.from(`{"x":${value}}${" ".repeat(padding)}`);
        };
        assert.ok(!isRefusal(parseJsonBody(body(JSON_LEVELS_MAX))));
        const refused = parseJsonBody(body(JSON_LEVELS_MAX + 1));
        assert.ok(isRefusal(refused));
        assert.equal(refused.status, 400);
        assert.match(refused.message, /nested too deeply/);
      });
    }
  }
});
