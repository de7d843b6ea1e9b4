import { join } from "node:path";
import t from "tap";
import { accepted, CATALOGUE, credentialsOf, folderOf, GATEWAY, swap } from "./files.ts";

const TWO_UPSTREAMS = swap(
  GATEWAY,
  "catalogue:",
  `  spare:
    protocols: { messages: "http://127.0.0.1:9002" }
    keys: ["\${SPARE_KEY:-}"]
catalogue:`,
);
const ROUTES = "routes: [{ upstream: main, model: plain-1 }]\n  - id: req";

t.test("models whose only upstream has no key are not offered", async (t) => {
  const files = {
    "gateway.yaml": TWO_UPSTREAMS,
    "catalogue.yaml": swap(CATALOGUE, ROUTES, ROUTES.replace("main", "spare")),
  };
  const { catalogue, upstreams } = await accepted(t, files);
  t.strictSame(ids(catalogue.models), ["req/plain"]);
  t.strictSame(ids(catalogue.notOffered), ["plain"]);
  t.equal(catalogue.get("plain"), undefined);
  t.ok(catalogue.withholds("plain"));
  t.strictSame(Object.keys(upstreams), ["main"]);

  const keyed = await accepted(t, files, { SPARE_KEY: "k" });
  t.strictSame(ids(keyed.catalogue.models), ["plain", "req/plain"]);
  t.equal(keyed.catalogue.version, catalogue.version, "a key changes no price");
});

t.test("a model keeps the routes whose upstreams have a key", async (t) => {
  const files = {
    "gateway.yaml": TWO_UPSTREAMS,
    "catalogue.yaml": swap(
      CATALOGUE,
      ROUTES,
      ROUTES.replace("[", "[{ upstream: spare, model: plain-2 }, "),
    ),
  };
  const { catalogue } = await accepted(t, files);
  t.strictSame(
    catalogue.get("plain")?.routes.map(({ upstream }) => upstream),
    ["main"],
  );
});

t.test("a secret can be read from a file", async (t) => {
  const file = join(await folderOf(t, { key: "from-a-file\n" }), "key");
  const files = { "gateway.yaml": swap(GATEWAY, "first-key", `"\${file:${file}}"`) };
  const { upstreams } = await accepted(t, files);
  t.strictSame(credentialsOf(upstreams["main"]), ["x-api-key", "from-a-file"]);
});

function ids(models: readonly { readonly id: string }[]): string[] {
  return models.map(({ id }) => id);
}
