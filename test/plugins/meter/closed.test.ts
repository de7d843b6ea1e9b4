import t from "tap";
import type { HttpCall } from "../../../core/http/http-call.ts";
import { Usage } from "../../../core/plugin/index.ts";
import meter from "../../../plugins/meter/index.ts";
import { deskOf, modelOf, preparedCall, replyHeaders } from "../../support/plugin-desk.ts";

const FACTORS = {
  ascii_bytes_per_token: 4,
  other_bytes_per_token: 1,
  image_tokens: 100,
  document_bytes_per_token: 10,
  density_share: 0,
  overhead_share: 0,
};
const SETTINGS = { hold: FACTORS, estimate: FACTORS };

t.test("what a call has used, when it closes", async (t) => {
  function closed(changes: Partial<HttpCall>, usage: Partial<Usage> = {}) {
    const plugin = meter(deskOf().services, SETTINGS);
    const call = preparedCall({ model: changes.model ?? modelOf() });
    plugin.request?.(call);
    Object.assign(call.usage ?? {}, usage);
    const ended = { status: 200, delivered: true, inputTokensLikely: 30, deliveredTokens: 12 };
    Object.assign(call, ended, changes);
    plugin.close?.(call);
    const { inputTokens, outputTokens } = call.usage ?? new Usage();
    return { used: [inputTokens, outputTokens, call.estimated], headers: replyHeaders(call) };
  }
  const reported = {
    inputTokens: 7,
    outputTokens: 3,
    inputReported: true,
    outputReported: true,
    deliveredAtReport: 12,
  };

  t.test("is what the provider reports, else the estimate of the missing part", async (t) => {
    t.strictSame(closed({}, reported).used, [7, 3, false]);
    t.strictSame(closed({}).used, [30, 12, true]);
    t.strictSame(closed({}, { ...reported, outputReported: false }).used, [7, 12, true]);
    t.strictSame(closed({}, { ...reported, inputReported: false }).used, [30, 3, true]);
    const more = { ...reported, outputReported: false, outputTokens: 50 };
    t.strictSame(closed({}, more).used, [7, 50, true], "an early report of more counts");
  });

  t.test("is in the headers of a reply", async (t) => {
    t.strictSame(closed({}, reported).headers, {
      "x-svc-input-tokens": "7",
      "x-svc-output-tokens": "3",
    });
  });

  t.test("is not estimated for images and speech", async (t) => {
    const { used, headers } = closed({
      inputTokensLikely: undefined,
      model: modelOf({ standard: "images" }),
    });
    t.strictSame(used, [0, 0, false]);
    t.equal(headers["x-svc-output-tokens"], "0");
  });

  t.test("is nothing for a refusal, or if nothing was delivered", async (t) => {
    for (const changes of [{ status: 502 }, { usage: undefined }]) {
      const { used, headers } = closed(changes);
      t.strictSame([used[2], headers], [false, {}]);
    }
    const { used, headers } = closed({ delivered: false });
    const none = { "x-svc-input-tokens": "0", "x-svc-output-tokens": "0" };
    t.strictSame([used[2], headers], [false, none]);
  });
});
