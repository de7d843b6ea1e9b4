import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import t from "tap";
import { SHIPPED_CATALOGUE } from "../../support/catalogue.ts";
import { startGateway } from "../../support/gateway.ts";
import { type Answer, ask } from "./raw-get.ts";

/** Without the fonts, which come last and after which no page waits. */
const FIRST_PAGE_BYTES = 45_000;
const FONT_BYTES = 40_000;
/** With the libraries of the charts and the chat, which load when they are needed. */
const ALL_BYTES = 170_000;

const isFont = (path: string) => path.endsWith(".woff2");

t.test("the files of the dashboard", async (t) => {
  const gateway = await startGateway({
    config: { catalogue: SHIPPED_CATALOGUE },
    plugins: { dashboard: { service_name: 'A <b> & "C"' } },
  });
  t.teardown(() => gateway.close());
  const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    ask(`${gateway.url}${path}`, headers);

  /** Every file that the pages load, starting from the document. */
  async function files(): Promise<Map<string, Answer>> {
    const found = new Map<string, Answer>();
    const { text } = await get("/dashboard");
    const named = text.matchAll(/(?:src|href)="(\/dashboard\/assets\/[^"]+)"/g);
    const waiting = Array.from(named, ([, path = ""]) => path).filter((path) => !isFont(path));
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (found.has(path)) continue;
      const answer = await get(path);
      assert.equal(answer.status, 200, path);
      found.set(path, answer);
      if (!path.endsWith(".js")) continue;
      const imported = answer.text.matchAll(
        /(?:from|import\(?|new URL\()\s*"(\.[^"]+\.(?:js|css))"/g,
      );
      for (const [, name = ""] of imported)
        waiting.push(new URL(name, gateway.url + path).pathname);
    }
    return found;
  }

  t.test("have an icon where browsers look for it", async (t) => {
    const response = await fetch(`${gateway.url}/favicon.ico`);
    t.strictSame([response.status, response.redirected], [200, true]);
    t.match(response.headers.get("content-type"), /^image\/svg/);
  });

  t.test("weigh under 45 KB compressed for the first page, 170 KB in all", async (t) => {
    const all = await files();
    t.ok(all.size > 20, [...all.keys()].join("\n"));
    const names = [...all.keys()].map((path) => path.replace(/^.*\/assets\/[^/]+\//, ""));
    for (const name of ["uplot.js", "uplot.css", "markdown-it.js", "eventsource-parser/index.js"]) {
      t.ok(names.includes(`vendor/${name}`), name);
    }
    const document = (await get("/dashboard")).text;
    let first = (await get("/dashboard", { "accept-encoding": "br" })).bytes.length;
    let bytes = first;
    for (const path of all.keys()) {
      const { length } = (await get(path, { "accept-encoding": "br" })).bytes;
      bytes += length;
      if (document.includes(path) || path.endsWith("/pages/sign-in.js")) first += length;
    }
    console.log(`${all.size} files, ${bytes} bytes; ${first} for the first page`);
    t.ok(first < FIRST_PAGE_BYTES, `${first} bytes`);
    t.ok(bytes < ALL_BYTES, `${bytes} bytes`);
    let fonts = 0;
    for (const [, path = ""] of document.matchAll(/url\("(\/[^"]+\.woff2)"\)/g)) {
      const { status, bytes, headers } = await get(path, { "accept-encoding": "br" });
      t.strictSame([status, headers["content-type"]], [200, "font/woff2"]);
      fonts += bytes.length;
    }
    t.ok(fonts > 10_000 && fonts < FONT_BYTES, `${fonts} bytes of fonts`);
  });

  t.test("are few: the scripts of a page come in three, all named by its document", async (t) => {
    for (const path of ["", "/usage", "/keys", "/models", "/chat", "/sign-in"]) {
      const { text } = await get(`/dashboard${path}`);
      const scripts = [...text.matchAll(/<link rel="modulepreload" href="([^"]+)">/g)];
      const names = scripts.map(([, url = ""]) => url.replace(/^.*\/assets\/[^/]+\//, ""));
      const page = path === "" ? "/overview" : path;
      const vendor = names.filter((name) => name.startsWith("vendor/"));
      t.strictSame(names, ["main.js", `pages${page}.js`, "text-vi.js", ...vendor]);
      t.equal(vendor.length, path === "/chat" ? 2 : 0, "the reader of streams");
      t.ok(text.indexOf("modulepreload") < text.indexOf("<style>"), "asked for before the styles");
    }
  });

  t.test(
    "come together with the account and the data, where a customer is signed in",
    async (t) => {
      const cookie = "tollgate_signed_in=yes";
      const { headers } = await get("/dashboard/keys", { cookie });
      const link = (path: string) => `</account/v1${path}>; rel=preload; as=fetch; crossorigin`;
      t.equal(headers["link"], `${link("/me")}, ${link("/keys")}`);
      const today = String((await get("/dashboard", { cookie })).headers["link"]);
      t.match(today, /usage\/summary\?by=day&from=20\d\d-\d\d-\d\d>/);
      t.equal((await get("/dashboard/keys")).headers["link"], undefined);
      t.equal((await get("/dashboard/top-up/one", { cookie })).headers["link"], undefined);
    },
  );

  t.test("are compressed for clients that accept it, with the same content", async (t) => {
    const [path = ""] = [...(await files()).keys()].filter((name) => name.endsWith("/main.js"));
    const plain = await get(path);
    t.equal(plain.headers["content-encoding"], undefined);
    const brotli = await get(path, { "accept-encoding": "gzip, deflate, br" });
    t.equal(brotli.headers["content-encoding"], "br");
    t.strictSame(brotliDecompressSync(brotli.bytes), plain.bytes);
    const gzip = await get(path, { "accept-encoding": "gzip, br;q=0" });
    t.equal(gzip.headers["content-encoding"], "gzip");
    t.strictSame(gunzipSync(gzip.bytes), plain.bytes);
    t.match(String(gzip.headers["vary"]), /accept-encoding/);
    t.match(String(plain.headers["cache-control"]), /immutable/);
  });

  t.test("are cached; only the document is checked again", async (t) => {
    const first = await get("/dashboard");
    t.equal(first.headers["cache-control"], "no-cache");
    const again = await get("/dashboard", { "if-none-match": String(first.headers["etag"]) });
    t.equal(again.status, 304);
    t.equal(again.bytes.length, 0);
  });

  t.test("are in the language that the browser wants, unless the visitor chose one", async (t) => {
    for (const [accepted, cookie, language] of [
      ["en-US,en;q=0.9,vi;q=0.8", "", "en"],
      ["fr, en;q=0.5, vi-VN;q=0.7", "", "vi"],
      ["fr", "", "vi"],
      ["en;q=0, fr", "", "vi"],
      ["en", "tollgate_language=vi", "vi"],
      ["vi", "tollgate_language=en", "en"],
    ] as const) {
      const { text, headers } = await get("/dashboard", { "accept-language": accepted, cookie });
      t.equal(/<html lang="(\w+)"/.exec(text)?.[1], language, accepted);
      t.match(String(headers["vary"]), /accept-language/);
    }
  });

  t.test("run only their own scripts, and cannot be framed", async (t) => {
    for (const path of ["/dashboard", "/dashboard/usage", "/dashboard/verify", "/dashboard/x"]) {
      const { headers, text } = await get(path);
      const policy = String(headers["content-security-policy"]).split("; ");
      for (const rule of [
        "default-src 'none'",
        "script-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
      ]) {
        t.ok(policy.includes(rule), `${path}: ${rule}`);
      }
      t.equal(headers["x-content-type-options"], "nosniff");
      t.equal(headers["referrer-policy"], "no-referrer");
      t.notMatch(text, /<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=/);
      const [style = "", ...others] = Array.from(
        text.matchAll(/<style>(.*?)<\/style>/gs),
        ([, css]) => css ?? "",
      );
      const hash = createHash("sha256").update(style).digest("base64");
      t.ok(policy.includes(`style-src 'self' 'sha256-${hash}'`), path);
      t.strictSame(others, []);
    }
  });

  t.test("use the language and the colours that the browser remembers", async (t) => {
    const root = async (cookie: string) => {
      const { text } = await get("/dashboard", cookie === "" ? {} : { cookie });
      return /<html[^>]*>/.exec(text)?.[0] ?? "";
    };
    t.match(await root(""), /lang="vi" data-theme="auto"/);
    const chosen = "a=b; tollgate_language=en; tollgate_theme=dark";
    t.match(await root(chosen), /lang="en" data-theme="dark"/);
    const nonsense = 'tollgate_language="><script>; tollgate_theme=constructor';
    t.match(await root(nonsense), /lang="vi" data-theme="auto"/);
    t.match(await root(""), /data-service="A &lt;b&gt; &amp; &quot;C&quot;"/);
  });

  t.test("are served for every page, with 404 for unknown paths", async (t) => {
    const statuses: Record<string, number> = {};
    for (const path of [
      "",
      "/",
      "/keys",
      "/top-up/01a1ffad-3c6a-78f2-b0bf-23501a4999ae",
      "/nothing",
      "/assets/old/main.js",
      "/../package.json",
      "/assets/..%2f..%2fpackage.json",
    ]) {
      statuses[path] = (await get(`/dashboard${path}`)).status;
    }
    t.strictSame(statuses, {
      "": 200,
      "/": 200,
      "/keys": 200,
      "/top-up/01a1ffad-3c6a-78f2-b0bf-23501a4999ae": 200,
      "/nothing": 404,
      "/assets/old/main.js": 404,
      "/../package.json": 400,
      "/assets/..%2f..%2fpackage.json": 400,
    });
  });

  t.test("list the models with their prices without a session", async (t) => {
    const { status, text } = await get("/account/v1/catalogue");
    t.equal(status, 200);
    const { models, popular } = JSON.parse(text);
    t.equal(models.length, 102);
    t.strictSame(
      models.find((model: { id: string }) => model.id === "claude-opus-5-5"),
      {
        id: "claude-opus-5-5",
        standard: "messages",
        channel: "standard",
        labels: ["reasoning", "vision", "tools", "streaming"],
        context_window: 1_000_000,
        max_input_tokens: null,
        max_output_tokens: 128_000,
        price_unit: "mtok",
        price_vnd: 36_000,
        price_factors: {},
        next_price: null,
      },
    );
    for (const id of popular)
      t.ok(
        models.some((model: { id: string }) => model.id === id),
        id,
      );
    t.ok(popular.length > 0);
  });
});
