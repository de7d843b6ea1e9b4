import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
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
    const names = new Map<string, string>();
    for (let at = 0; at < (response.headers?.length ?? 0); at += 2)
      names.set(response.headers![at]!, response.headers![at + 1]!);
    return { status: response.status, headers: names, body: response.body as Buffer };
  };
  return { served, ask };
}

t.test("the list of a large catalogue", async (t) => {
  t.test("is written once a reload, in either shape", async (t) => {
    const { catalogue, counts } = catalogueOf(2_000);
    const { served, ask } = listsOf(catalogue);
    const bodies = [];
    for (let n = 0; n < 5; n += 1) bodies.push((await ask()).body);
    t.equal(counts.written, 2_000);
    t.equal(new Set(bodies).size, 1, "the same bytes for all");
    for (let n = 0; n < 5; n += 1) await ask({ "anthropic-version": "2023-06-01" }, `limit=${n}`);
    t.equal(counts.written, 4_000);
    served.catalogue = catalogueOf(1).catalogue;
    t.equal(JSON.parse((await ask()).body.toString()).data.length, 1);
  });

  t.test("is sent compressed to a client that accepts it, at a tenth of its size", async (t) => {
    const { ask } = listsOf(catalogueOf(2_000).catalogue);
    const plain = await ask();
    t.equal(plain.headers.get("content-encoding"), undefined);
    for (const accepted of ["gzip", "br, gzip;q=0.8", "deflate,gzip"]) {
      const coded = await ask({ "accept-encoding": accepted });
      t.equal(coded.headers.get("content-encoding"), "gzip", accepted);
      t.ok(coded.body.length < plain.body.length / 10, `${coded.body.length} bytes`);
      t.strictSame(gunzipSync(coded.body), plain.body);
    }
    for (const accepted of ["br", "gzip;q=0", "gzip; q=0.0, br", "identity"]) {
      t.equal((await ask({ "accept-encoding": accepted })).body, plain.body, accepted);
    }
  });

  t.test("is not sent again to a client that has it", async (t) => {
    const { served, ask } = listsOf(catalogueOf(20).catalogue);
    const etag = (await ask()).headers.get("etag") ?? "";
    for (const known of [etag, etag.replace("W/", ""), `"other", ${etag}`, "*"]) {
      const again = await ask({ "if-none-match": known });
      t.equal(again.status, 304, known);
      t.equal(again.body, undefined);
      t.equal(again.headers.get("etag"), etag);
    }
    t.equal((await ask({ "if-none-match": '"other"' })).status, 200);
    const messages = { "anthropic-version": "2023-06-01" };
    t.equal((await ask({ "if-none-match": etag, ...messages })).status, 200, "another shape");
    served.catalogue = catalogueOf(21).catalogue;
    t.equal((await ask({ "if-none-match": etag })).status, 200, "another catalogue");
  });
});
