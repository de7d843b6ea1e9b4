import t from "tap";
import { offeredFeatures } from "../../../core/http/offered-features.ts";
import { deskOf, modelOf, preparedCall } from "../../support/plugin-desk.ts";

t.test("a call that asks for what its model lacks is refused", async (t) => {
  const image = {
    type: "image",
    source: { type: "base64", media_type: "image/png", data: "AAAA" },
  };
  const messages = [{ role: "user", content: [image] }];
  for (const [param, labels, changes] of [
    ["stream", [], { stream: true }],
    [undefined, ["streaming"], { stream: true }],
    ["messages", [], { body: { model: "plain", messages } }],
    [undefined, ["vision"], {}],
  ] as const) {
    const call = preparedCall({ ...changes, model: modelOf({ labels: new Set(labels) }) });
    const verdict = offeredFeatures(deskOf().services).request?.(call);
    t.match(verdict ?? {}, param === undefined ? {} : { status: 400, param });
    t.equal(verdict === undefined, param === undefined, `${param} ${labels}`);
  }
});
