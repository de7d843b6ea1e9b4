import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import t from "tap";
import { createCustomer, usage } from "../../support/admin.ts";
import { ask, bodyOf } from "../../support/ask.ts";
import { SHIPPED_CATALOGUE } from "../../support/catalogue.ts";
import { startGateway } from "../../support/gateway.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import { reload } from "../../support/requests.ts";
import { until } from "../../support/until.ts";
import { ask as get } from "./raw-get.ts";

const PAGE_BYTES = 30_000;

t.test("the front page", async (t) => {
  const gateway = await startGateway({
    config: { catalogue: SHIPPED_CATALOGUE },
    plugins: { dashboard: { service_name: "A & B", support: "help@example.com" } },
  });
  t.teardown(() => gateway.close());
  const page = (path = "/", headers: Record<string, string> = {}) =>
    get(`${gateway.url}${path}`, headers);

  t.test("says what this is, in the language of the browser or of the link", async (t) => {
    const { status, headers, text } = await page("/", { "accept-language": "en" });
    t.equal(status, 200);
    t.match(String(headers["content-type"]), /^text\/html/);
    t.match(String(headers["vary"]), /accept-language/);
    t.match(text, /<html lang="en"/);
    t.match(text, "<title>A &amp; B: One API key for every model, paid in dong</title>");
    t.match(text, /<meta name="description" content="102 models of \d+ makers/);
    t.match(text, '<a href="mailto:help@example.com">help@example.com</a>');
    t.match(text, '<link rel="alternate" hreflang="vi" href="/?language=vi">');
    t.match((await page()).text, "Một khóa API cho mọi mô hình, trả bằng tiền Việt");

    const chosen = await page("/?language=vi", { "accept-language": "en" });
    t.match(chosen.text, /<html lang="vi"/);
    const [cookie = ""] = String(chosen.headers["set-cookie"]).split(";");
    const pages = await page("/dashboard", { cookie, "accept-language": "en" });
    t.match(pages.text, /<html lang="vi"/);
  });

  t.test("has every model with its price, in 30 KB without scripts", async (t) => {
    const { text } = await page("/?language=en");
    t.notMatch(text, /<script|\sstyle=|\son\w+=/);
    const rows = [...text.matchAll(/<tr><td><code>([^<]+)<\/code><td>(.*?)(?=<tr>|<\/table>)/gs)];
    const prices = rows.flatMap(([, , cells = ""]) => cells.match(/[\d,.]+ đ \//g) ?? []);
    t.equal(prices.length, 102);
    const opus = rows.find(([, name]) => name === "claude-opus-5-5")?.[2] ?? "";
    t.match(opus, "36,000 đ / 1M tokens");
    t.match(opus, /<small>[\d,]+ đ \/ call/);
    t.match(text, /<summary>Anthropic <.{1,250}<tr><td><code>claude-/s);
    t.notMatch(text, "<summary>Others");

    let bytes = 0;
    const loaded = [...text.matchAll(/(?:href|src)="(\/dashboard\/assets\/[^"]+)"/g)];
    // No page waits for the fonts.
    const others = loaded.map(([, path = ""]) => path).filter((path) => !path.endsWith(".woff2"));
    for (const path of new Set(["/?language=en", ...others])) {
      const answer = await page(path, { "accept-encoding": "br" });
      t.equal(answer.status, 200, path);
      bytes += answer.bytes.length;
    }
    console.log(`${bytes} bytes with its files, ${Buffer.byteLength(text)} of text`);
    t.ok(bytes < PAGE_BYTES, `${bytes} bytes`);
    const packed = await page("/?language=en", { "accept-encoding": "br" });
    t.equal(brotliDecompressSync(packed.bytes).toString(), text);
    const again = await page("/?language=en", { "if-none-match": String(packed.headers["etag"]) });
    t.equal(again.status, 304);
  });

  t.test(
    "shows how the calls of the last day ended, by model, and no numbers of calls",
    async (t) => {
      const customer = await createCustomer(gateway, { creditVnd: 1_000_000 });
      await ask(gateway.url, customer.key, "/v1/messages", bodyOf("/v1/messages"));
      const rows = (sql: string) => ledgerSql(gateway, sql);
      await until("the call is recorded", async () => {
        return (await usage(gateway, customer.accountId)).length === 1;
      });
      const copies = (model: string, status: number, count: number, days = 0) => `
      insert into usage_records
      select (jsonb_populate_record(null::usage_records, to_jsonb(one) || jsonb_build_object('call_id', gen_random_uuid(), 'model', '${model}',
        'status', ${status}, 'at', one.at - interval '${days} days'))).*
      from (select * from usage_records limit 1) one, generate_series(1, ${count});`;
      await rows("select make_usage_partition(now() - interval '2 days')");
      await rows(
        [
          copies("gpt-5.6-sol", 200, 30),
          copies("req/gpt-5.6-sol", 502, 10),
          copies("grok-4.5", 503, 25),
          copies("grok-4.5", 400, 1),
          copies("kimi-k2.6", 200, 50),
          copies("kimi-k2.6", 502, 40, 2),
          copies("glm-5.2", 502, 3),
        ].join("\n"),
      );
      // A reload makes a new catalogue, so the page is written again.
      await reload(gateway, { config: { catalogue: SHIPPED_CATALOGUE } });
      const { text } = await page("/?language=en");
      const state = (name: string) =>
        new RegExp(`<code>${name}</code>.*<span class="state (\\w+)">([^<]*)<`)
          .exec(text)
          ?.slice(1);
      t.strictSame(
        ["claude-opus-5-5", "gpt-5.6-sol", "grok-4.5", "kimi-k2.6", "glm-5.2", "glm-5.1"].map(
          state,
        ),
        [
          ["good", "works"],
          ["partly", "disturbed 75%"],
          ["bad", "fails 3.8%"],
          ["good", "works 100%"],
          ["bad", "fails"],
          ["none", "no calls"],
        ],
      );
    },
  );

  t.test("is gone with its plugin, like every page of it", async (t) => {
    await reload(gateway, { plugins: { dashboard: false } });
    for (const path of ["/", "/favicon.ico", "/dashboard", "/account/v1/catalogue"]) {
      t.equal((await page(path)).status, 404, path);
    }
  });

  t.test("shows the factors of a price that is not one for all", async (t) => {
    const shipped = readFileSync(SHIPPED_CATALOGUE, "utf8");
    const entry = "  - id: claude-opus-5-5\n";
    const price = "    price: { cached_input: 0.1, output: 4 }\n";
    const catalogue = join(gateway.folder, "factors.yaml");
    writeFileSync(catalogue, shipped.replace(entry, entry + price));
    await reload(gateway, { config: { catalogue } });
    const english = "36,000 đ / 1M tokens · read from the cache × 0.1 · output × 4";
    const vietnamese = "36.000 đ / 1 triệu token · đọc từ bộ nhớ đệm × 0,1 · đầu ra × 4";
    t.ok((await page("/?language=en")).text.includes(english));
    t.ok((await page("/?language=vi")).text.includes(vietnamese));
    const { models } = JSON.parse((await page("/account/v1/catalogue")).text);
    const found = models.filter(
      (model: { price_factors: object }) => Object.keys(model.price_factors).length > 0,
    );
    t.match(found, [{ id: "claude-opus-5-5", price_factors: { cached_input: 0.1, output: 4 } }]);
  });
});
