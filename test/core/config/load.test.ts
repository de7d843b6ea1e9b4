import assert from "node:assert/strict";
import t from "tap";
import { accepted, credentialsOf, GATEWAY, swap } from "./files.ts";

const SMALLEST = `
upstreams: { main: { protocols: { messages: "http://127.0.0.1:9001/" }, keys: [key] } }
catalogue: catalogue.yaml
plugins: [./plugin.js]
unbilled: true
`;

t.test("a valid config", async (t) => {
  t.test("has a default for every optional setting", async (t) => {
    const config = await accepted(t, { "gateway.yaml": SMALLEST });
    const { catalogue, plugins, upstreams, version, sources, ...settings } = config;
    t.match(version, /^[0-9a-f]{8}$/);
    t.match(sources, [{ setting: "upstreams.main.protocols.messages", from: [] }]);
    t.strictSame(settings, {
      listen: {
        host: "127.0.0.1",
        port: 8080,
        workers: 1,
        engine: "auto",
        trustedProxies: ["loopback", "private"],
      },
      admin: { token: undefined, listen: undefined },
      stores: {
        ...{ hot: "embedded", ledger: "embedded", data: "./data", connections: 10 },
        monthsKept: undefined,
      },
      limits: {
        bodyBytesMax: 20 * 1024 * 1024,
        bodiesBytesMax: 512 * 1024 * 1024,
        headerBytesMax: 16 * 1024,
        keyCacheBytesMax: 64 * 1024 * 1024,
        replyBytesMax: 64 * 1024 * 1024,
        unreadBytesMax: 256 * 1024 * 1024,
        callsMax: 20_000,
        leftCallsMax: 20,
        callMs: 900_000,
        connectMs: 10_000,
        firstByteMs: 900_000,
        idleMs: 900_000,
        heartbeatMs: 60_000,
        drainMs: 60_000,
        handoverMs: 10_000,
        clockDifferenceMs: 300_000,
      },
      log: { level: "info" },
      headers: { prefix: "x-svc-", corsOrigins: [] },
      images: { privateAddresses: false, nameServers: [] },
      proxies: { httpsProxy: undefined, noProxy: undefined },
      unbilled: true,
    });
    t.strictSame(Object.keys(upstreams), ["main"]);
    const { createAdapter, ...main } = upstreams["main"] ?? assert.fail();
    const protocols = new Set(["messages"]);
    t.strictSame(main, {
      ...{ kind: "http-json", protocols, profile: {}, features: {} },
      ...{ connections: 20_000, connectionAgeMs: 300_000, proxy: undefined },
      ...{ firstByteMs: undefined, replyMs: Number.POSITIVE_INFINITY },
    });
    t.strictSame(createAdapter().describe(), {
      protocols: { messages: "http://127.0.0.1:9001" },
    });
    t.strictSame(credentialsOf(upstreams["main"]), ["x-api-key", "key"]);
    t.equal(catalogue.models.length, 2);
    t.strictSame(
      plugins.map(({ name }) => name),
      ["./plugin.js"],
    );
  });

  t.test("uses the call limit for a silent upstream, unless idle_seconds is set", async (t) => {
    const limits = "limits: { body_mb: 20, call_seconds: 900 }";
    const longer = swap(GATEWAY, limits, "limits: { call_seconds: 1200 }");
    t.equal((await accepted(t, { "gateway.yaml": longer })).limits.idleMs, 1_200_000);
    const less = swap(GATEWAY, limits, "limits: { idle_seconds: 30 }");
    t.equal((await accepted(t, { "gateway.yaml": less })).limits.idleMs, 30_000);
  });

  t.test("accepts one Redis or several nodes of a cluster, and Postgres", async (t) => {
    const stores = "hot: embedded, ledger: embedded";
    const one = swap(GATEWAY, stores, "hot: redis://a:6379, ledger: postgres://b/ledger");
    t.strictSame((await accepted(t, { "gateway.yaml": one })).stores, {
      hot: "redis://a:6379",
      ledger: "postgres://b/ledger",
      connections: 10,
      data: "./data",
      monthsKept: undefined,
    });
    const cluster = swap(GATEWAY, stores, "hot: [rediss://a:1, rediss://b:2], ledger: embedded");
    t.strictSame((await accepted(t, { "gateway.yaml": cluster })).stores.hot, [
      "rediss://a:1",
      "rediss://b:2",
    ]);
  });

  t.test("may have workers if both stores can be shared", async (t) => {
    const text = swap(
      swap(GATEWAY, "workers: 1", "workers: 4"),
      "hot: embedded, ledger: embedded",
      "hot: redis://a:6379, ledger: postgres://b/ledger",
    );
    t.equal((await accepted(t, { "gateway.yaml": text })).listen.workers, 4);
  });

  t.test("resolves the alias of a mapping", async (t) => {
    const text = swap(
      swap(GATEWAY, "  main:\n", "  main: &one\n"),
      "catalogue:",
      "  other: *one\ncatalogue:",
    );
    const { upstreams } = await accepted(t, { "gateway.yaml": text });
    const { main, other } = upstreams;
    t.strictSame({ ...other, createAdapter: 0 }, { ...main, createAdapter: 0 });
    t.strictSame(credentialsOf(other), credentialsOf(main));
  });
});

t.test("an environment variable", async (t) => {
  const token = async (t: Parameters<typeof accepted>[0], written: string, environment = {}) => {
    const text = swap(GATEWAY, "0123456789abcdef", written);
    return (await accepted(t, { "gateway.yaml": text }, environment)).admin.token;
  };

  t.test("is substituted, alone or inside a text", async (t) => {
    const environment = { TOKEN: "a-token-of-some-length", ID: "7" };
    t.equal(await token(t, `"\${TOKEN}"`, environment), "a-token-of-some-length");
    t.equal(await token(t, `"\${TOKEN}-of-\${ID}"`, environment), "a-token-of-some-length-of-7");
  });

  t.test("has a default, used if it is unset or empty", async (t) => {
    const written = `"\${TOKEN:-a-default-of-some-length}"`;
    t.equal(await token(t, written), "a-default-of-some-length");
    t.equal(await token(t, written, { TOKEN: "" }), "a-default-of-some-length");
    t.equal(await token(t, written, { TOKEN: "from-the-environment" }), "from-the-environment");
  });

  t.test("is not substituted after a doubled dollar", async (t) => {
    t.equal(await token(t, `"$\${NOT_A_VARIABLE}"`), `\${NOT_A_VARIABLE}`);
  });

  t.test("is not substituted again inside a substituted value", async (t) => {
    t.equal(
      await token(t, `"\${TOKEN}"`, { TOKEN: `\${OTHER}-and-some-more` }),
      `\${OTHER}-and-some-more`,
    );
  });

  t.test("is a number without quotes, and text with them", async (t) => {
    const port = swap(GATEWAY, "{ host: 127.0.0.1, port: 8080, workers: 1 }", `\n  port: \${PORT}`);
    t.equal((await accepted(t, { "gateway.yaml": port }, { PORT: "9090" })).listen.port, 9090);
    t.equal(await token(t, `"\${TOKEN}"`, { TOKEN: "1234567890123456" }), "1234567890123456");
  });

  t.test("works in the catalogue too", async (t) => {
    const { catalogue } = await accepted(
      t,
      {
        "catalogue.yaml": `
models:
  - id: \${ID}
    price_vnd_per_mtok: \${PRICE}
    context_window: 1000
    max_output_tokens: 1000
    standard: messages
    routes: [{ upstream: main, model: m }]
`,
      },
      { ID: "named", PRICE: "3000" },
    );
    t.equal(catalogue.get("named")?.price.vnd, 3000);
  });
});
