import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { type AccountsGateway, startAccountsGateway } from "../support/accounts.ts";
import { createCustomer } from "../support/admin.ts";
import { bodyOf } from "../support/ask.ts";
import { hasNativeEngine } from "../support/native-engine.ts";
import { type Nginx, startNginx } from "../support/nginx.ts";
import { assertReconciled, noCallsInFlight, spent } from "../support/proof.ts";
import { RawClient, rawPost } from "../support/raw-client.ts";
import { reload } from "../support/requests.ts";
import { until } from "../support/until.ts";

const PATH = "/v1/messages";
const CREDIT_VND = 10_000_000;
/** Longer than the gateway and nginx keep an idle connection. */
const SILENCE_MS = 12_000;
const MB = 1_048_576;
const HEAD = `POST ${PATH} HTTP/1.1\r\nhost: h\r\n`;
const CHUNKED = `${HEAD}transfer-encoding: chunked\r\n\r\n`;

/** The status, which may depend on the engine behind nginx. */
type Status = number | { readonly native: number; readonly node: number };

/** The request, and who refuses it: 400 by nginx; 401 by the gateway, which has then read a sound request. */
const HEADS: readonly (readonly [what: string, sent: string, status: Status])[] = [
  ["no host", "GET /healthz HTTP/1.1\r\n\r\n", 400],
  ["two hosts", `${HEAD}host: i\r\n\r\n`, 400],
  ["a header in two lines", `${HEAD}x: a\r\n b\r\n\r\n`, 400],
  ["a space before a colon", `${HEAD}transfer-encoding : chunked\r\n\r\n`, 400],
  ["a header without a name", `${HEAD}: a\r\ncontent-length: 2\r\n\r\n{}`, 400],
  ["no HTTP", "GARBAGE\r\n\r\n", 400],
  ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
  ["a header of 20 KB", `${HEAD}x: ${"a".repeat(20_000)}\r\n\r\n`, 400],
  ["a control character in a header", `${HEAD}x: \u0001\r\n\r\n`, { native: 502, node: 400 }],
  ["more than 100 headers", `${HEAD}${"x: y\r\n".repeat(120)}\r\n`, { native: 431, node: 401 }],
  ["two lengths", `${HEAD}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`, 400],
  ["a length and chunks", `${HEAD}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n`, 400],
  ["bytes behind a chunk", `${CHUNKED}2\r\n{}XX0\r\n\r\n`, 400],
  ["HTTP/1.0", "GET /healthz HTTP/1.0\r\nhost: h\r\n\r\n", 200],
  ["a whole address", "GET http://h/healthz HTTP/1.1\r\nhost: h\r\n\r\n", 200],
  ["a chunk extension", `${CHUNKED}2;a=b\r\n{}\r\n0\r\n\r\n`, 401],
  ["chunks ended by bare line feeds", `${CHUNKED}2\n{}\n0\n\n`, 401],
  ["a header without a colon", `${HEAD}x\r\n\r\n`, 401],
  ["trailers", `${CHUNKED}2\r\n{}\r\n0\r\nx: y\r\n\r\n`, 401],
  [
    "a request in its trailers",
    `${CHUNKED}2\r\n{}\r\n0\r\nGET /v2/hidden HTTP/1.1\r\nhost: h\r\n\r\n`,
    401,
  ],
];

/** The routes of operators, as nginx and the gateway may read them. */
const OPERATORS_PATHS = [
  "/admin/v1/accounts",
  "/metrics",
  "/metrics?x",
  "/metrics/../metrics",
  "//admin/v1/accounts",
  "/%61dmin/v1/accounts",
  "/x/../admin/v1/accounts",
  "/admin/v1/accounts/x%2f..%2f..%2f..%2f..%2ffoo/wallet",
  "/admin/v1/accounts/x/../../../../foo",
  "/admin/v1/transfers/..%2f..%2f..%2fx",
  "/admin/..",
  "/admin/%2e%2e/v1/models",
  "http://h/admin/v1/accounts/x%2f..%2f..%2f..%2f..%2ffoo/wallet",
];

for (const engine of hasNativeEngine ? (["native", "node"] as const) : (["node"] as const)) {
  t.test(`behind nginx, a gateway on ${engine}`, { jobs: 4 }, async (t) => {
    let all: AccountsGateway;
    let nginx: Nginx;
    t.before(async () => {
      all = await startAccountsGateway({ config: { listen: { engine } } });
      nginx = await startNginx([all.gateway]);
    });
    t.teardown(async () => {
      await noCallsInFlight(all.gateway);
      await assertReconciled(all.gateway);
      await nginx.stop();
      await all.close();
    });

    const stats = async () => {
      const { open = 0, aborted = 0 } = (await all.gateway.simulator.stats())[PATH] ?? {};
      return { open, aborted };
    };

    for (const [what, sent, stated] of HEADS) {
      const status = typeof stated === "number" ? stated : stated[engine];
      t.test(`never gets a request with ${what}, or reads it rightly: ${status}`, async (t) => {
        const client = await RawClient.open(nginx.port);
        await client.send(sent);
        await client.sees("\r\n\r\n");
        t.match(client.pending.toString(), new RegExp(`^HTTP/1.1 ${status} `));
        client.destroy();
        t.notMatch(nginx.accessLog, /hidden/);
      });
    }

    for (const path of OPERATORS_PATHS) {
      t.test(`keeps operators' routes to itself: ${path}`, async (t) => {
        const client = await RawClient.open(nginx.port);
        await client.send(`GET ${path} HTTP/1.1\r\nhost: h\r\n\r\n`);
        await client.sees("\r\n\r\n");
        t.match(client.pending.toString(), /^HTTP\/1.1 404 /);
        // The gateway's own replies have an id.
        t.notMatch(client.pending.toString(), /x-request-id/);
        client.destroy();
      });
    }

    t.test("streams each event at once, and stops its upstream if the client leaves", async (t) => {
      const { key, accountId } = await createCustomer(all.gateway, { creditVnd: CREDIT_VND });
      const { aborted } = await stats();
      const directive = { deltas: 4, silent_ms: 600_000, silent_after_events: 5 };
      const client = await RawClient.open(nginx.port);
      await client.send(rawPost(PATH, key, bodyOf(PATH, directive, { stream: true })));
      await client.sees("content_block_delta");
      client.destroy();
      await until("the upstream is cancelled", async () => (await stats()).aborted > aborted);
      await noCallsInFlight(all.gateway);
      t.ok((await spent(all.gateway, accountId, CREDIT_VND)) > 0n);
    });

    t.test("keeps a stream open that is silent", async (t) => {
      const { key } = await createCustomer(all.gateway, { creditVnd: CREDIT_VND });
      const directive = { output_tokens: 12, silent_ms: SILENCE_MS, silent_after_events: 5 };
      const client = await RawClient.open(nginx.port);
      await client.send(rawPost(PATH, key, bodyOf(PATH, directive, { stream: true })));
      const { status, whole, body } = await client.response();
      t.strictSame([status, whole], [200, true]);
      t.match(body.toString(), /message_stop/);
      client.destroy();
    });

    for (const [megabytes, expected, reason] of [
      [3, 200, /"type":"message"/],
      [20.5, 413, /"type":"error"/],
      [30, 413, /"type":"error"/],
    ] as const) {
      t.test(`gets a body of ${megabytes} MB: ${expected}`, async (t) => {
        const { key } = await createCustomer(all.gateway, { creditVnd: CREDIT_VND });
        const body = bodyOf(
          PATH,
          { output_tokens: 1 },
          { system: "a ".repeat(megabytes * 524_288) },
        );
        t.ok(body.length > megabytes * MB);
        const client = await RawClient.open(nginx.port);
        void client.send(rawPost(PATH, key, body));
        const { status, body: reply } = await client.response();
        t.equal(status, expected);
        t.match(reply.toString(), reason);
        client.destroy();
      });
    }
  });
}

t.test("customers behind nginx", async (t) => {
  const all = await startAccountsGateway({ config: { listen: { trusted_proxies: [] } } });
  const nginx = await startNginx([all.gateway]);
  t.teardown(async () => {
    await nginx.stop();
    await all.close();
  });
  /** A request of the plugin accounts that the limit by address counts. Claims a new address each time. */
  let claimed = 0;
  const attempt = async (localAddress: string, port = nginx.port): Promise<number | undefined> => {
    const headers = { "content-type": "application/json", "x-forwarded-for": `9.9.9.${claimed++}` };
    const path = "/account/v1/password/reset/keys";
    const options = { port, path, localAddress, headers, method: "POST" };
    const sending = request(options).end('{"token":"none","password":"none"}');
    const [response] = await once(sending, "response");
    response.resume();
    return response.statusCode;
  };
  /** Tries until an address has to wait, and returns how often it had not. One more is allowed every second. */
  const triesOf = async (address: string) => {
    let tries = 0;
    while ((await attempt(address)) !== 429) tries++;
    return tries;
  };
  /** As many are allowed at once: fewer mean that others have used the limit too. */
  const BURST = 60;
  const warnings = () => all.gateway.logs.match(/ignores x-forwarded-for/g)?.length ?? 0;

  t.test("share the limits of one address if it is not trusted, which the log says", async (t) => {
    t.ok((await triesOf("127.0.0.2")) >= BURST);
    t.ok((await triesOf("127.0.0.3")) < BURST, "the limit of the other");
    await until("the log says so", () => warnings() === 1);
  });

  t.test("or without a proxy are counted by their connection, whatever they claim", async (t) => {
    const { gateway } = all;
    let tries = 0;
    while ((await attempt("127.0.0.6", gateway.port)) !== 429) tries++;
    t.ok(tries > 0 && tries < 100, `${tries} tries`);
    t.not(await attempt("127.0.0.7", gateway.port), 429, "another connection is another customer");
    const wrong = async () => {
      const headers = { authorization: "Bearer wrong", "x-forwarded-for": `9.9.9.${claimed++}` };
      return (await fetch(`${gateway.url}/admin/v1/accounts`, { headers })).status;
    };
    const statuses = await Promise.all(Array.from({ length: 40 }, wrong));
    t.ok(statuses.includes(429), "guesses of the admin token too");
    t.equal(warnings(), 1);
  });

  t.test("have limits of their own if it is, whatever they claim", async (t) => {
    await reload(all.gateway, { config: { listen: { trusted_proxies: ["loopback"] } } });
    t.ok((await triesOf("127.0.0.4")) >= BURST);
    t.not(await attempt("127.0.0.5"), 429);
    t.equal(warnings(), 1);
  });
});

t.test("pages behind nginx get their files beside a gateway of another version", async (t) => {
  const all = await startAccountsGateway();
  const other = createServer((request, response) => {
    response.statusCode = request.url === "/healthz" ? 200 : 404;
    response.end();
  });
  await once(other.listen(0, "127.0.0.1"), "listening");
  const nginx = await startNginx([all.gateway, other.address() as AddressInfo]);
  t.teardown(async () => {
    await nginx.stop();
    other.close();
    await all.close();
  });
  for (const path of ["/dashboard", "/console"]) {
    const document = await (await fetch(all.gateway.url + path)).text();
    const [, script = ""] = /src="([^"]+\/main\.js)"/.exec(document) ?? [];
    t.match(script, new RegExp(`^${path}/assets/`));
    for (let time = 0; time < 6; time += 1) {
      const { status } = await fetch(nginx.url + script);
      t.equal(status, 200, `${script}, time ${time}`);
    }
    t.equal((await fetch(nginx.url + script.replace("main", "no-such"))).status, 404);
  }
});
