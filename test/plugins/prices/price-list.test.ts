import t from "tap";
import { ConfigReloads } from "../../../core/boot/config-reloads.ts";
import { Catalogue } from "../../../core/catalogue/catalogue.ts";
import { entry, toModel } from "../../../core/config/catalogue-file.ts";
import type { GatewayConfig } from "../../../core/config/load.ts";
import { mapping, v } from "../../../core/process/options.ts";
import { inEffect } from "../../../plugins/prices/changes.ts";
import { recordedLog } from "../../support/log.ts";

const FROM = "2099-12-01T00:00:00.000Z";

t.test("an announced price comes with the prices that follow from it", async (t) => {
  const given = v.parse(mapping(entry), {
    id: "image",
    standard: "images",
    price_vnd_per_call: 500,
    next_price: { from: "2099-12-01T07:00", vnd: 700 },
    routes: [{ upstream: "one", model: "image" }],
    size_factors: [
      { pixels_max: 1_048_576, factor: 1 },
      { pixels_max: 4_194_304, factor: 1.5 },
    ],
    option_factors: { quality: { low: 1, high: 4 } },
    reference_images: { included: 1, factor_each: 0.1 },
  });
  const catalogue = new Catalogue([toModel(given, "v")]);
  const config = { catalogue, upstreams: {}, plugins: [] } as Partial<GatewayConfig>;
  let nowMs = 0;
  const reloads = new ConfigReloads({
    clock: { now: () => nowMs, monotonic: () => nowMs },
    log: recordedLog().log,
    config: () => config as GatewayConfig,
    load: () => Promise.reject(new Error("not read")),
    replace: () => Promise.reject(new Error("not replaced")),
  });
  const before = reloads.prices();
  t.strictSame(
    before.map(({ kind, from, millionths }) => [kind, from, millionths / 1e6]),
    [
      ...[500, 700].flatMap((vnd) => {
        const from = vnd === 500 ? null : FROM;
        return [
          ["per_image", from, vnd],
          ["up to 4194304 pixels", from, vnd * 1.5],
          ["quality high", from, vnd * 4],
          ["reference image beyond 1", from, vnd * 0.1],
        ];
      }),
    ],
  );
  nowMs = Date.parse(FROM);
  t.strictSame(inEffect(before, nowMs), reloads.prices(), "nothing is left to record");
});
