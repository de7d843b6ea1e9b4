import assert from "node:assert/strict";
import t from "tap";
import { Catalogue, type Model } from "../../../core/catalogue/catalogue.ts";
import { addModelRoutes } from "../../../core/http/models.ts";
import { type PlainRequest, Router } from "../../../core/plugin/router.ts";
import { isRefusal } from "../../../core/wire/refusal.ts";

import { priced } from "../../support/plugin-desk.ts";

/** A catalogue whose models count how often they are written. */
function catalogueOf(models: number) {
  const counts = { written: 0 };
  const all = Array.from({ length: models }, (_, n) => {
    const model = {
      id: `model-${n}`,
      price: priced("mtok", 26_000),
      channel: "standard",
      labels: new Set(["popular"]),
      standard: "chat",
    };
    const get = () => {
      counts.written += 1;
      return 200_000;
    };
    return Object.defineProperty(model, "contextWindow", { get }) as unknown as Model;
  });
  return { catalogue: new Catalogue(all), counts };
}

function listsOf(first: Catalogue) {
  const served = { catalogue: first };
  const router = new Router();
  addModelRoutes(
    router,
    () => served.catalogue,
    () => ["/v1/messages"],
  );
  const match = router.match("GET", "/v1/models");
  assert.ok(match.kind === "route" && match.route.access === "key");
  const { handler } = match.route;
  const ask = async (headers: Record<string, string> = {}, query = "") => {
    const request = { headers, query: new URLSearchParams(query) };
    const response = await handler(request as unknown as PlainRequest);
    assert.ok(!isRefusal(response));
    return String(response.body);
  };
  return { served, ask };
}

t.test("the list of a large catalogue", async (t) => {
  t.test("is written once a reload, in either shape", async (t) => {
    const { catalogue, counts } = catalogueOf(2_000);
    const { served, ask } = listsOf(catalogue);
    const bodies = new Set<string>();
    for (let n = 0; n < 5; n += 1) bodies.add(await ask());
    t.equal(counts.written, 2_000);
    t.equal(bodies.size, 1, "the same for all");
    for (let n = 0; n < 5; n += 1) await ask({ "anthropic-version": "2023-06-01" }, `limit=${n}`);
    t.equal(counts.written, 4_000);
    served.catalogue = catalogueOf(1).catalogue;
    t.equal(JSON.parse(await ask()).data.length, 1);
  });
});
