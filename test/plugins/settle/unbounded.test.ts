import t from "tap";
import type { HttpCall } from "../../../core/http/http-call.ts";
import { isRefusal } from "../../../core/plugin/index.ts";
import settle from "../../../plugins/settle/index.ts";
import { deskOf, keyOf, preparedCall, SETTLE_SETTINGS } from "../../support/plugin-desk.ts";

const unbounded = { holdTokens: 0, holdFeesVnd: 0, unbounded: true } as HttpCall["surcharge"];

t.test("of the calls whose input cannot be bounded, an account runs one at a time", async (t) => {
  const plugin = settle(deskOf().services, SETTLE_SETTINGS);
  const callOf = (accountId = "A") =>
    preparedCall({ key: keyOf({ accountId }), surcharge: unbounded });
  const statusOf = async (call: HttpCall) => {
    const verdict = await plugin.request?.(call);
    return isRefusal(verdict) ? verdict.status : 200;
  };
  const [first, second, other] = [callOf(), callOf(), callOf("B")];
  t.equal(await statusOf(first), 200);
  t.equal(await statusOf(second), 429);
  t.equal(await statusOf(other), 200, "of another account");
  t.equal(await statusOf(preparedCall()), 200, "a bounded call");

  await plugin.close?.(second);
  t.equal(await statusOf(callOf()), 429, "the end of a refused call frees no place");
  await plugin.close?.(first);
  t.equal(await statusOf(callOf()), 200);
});
