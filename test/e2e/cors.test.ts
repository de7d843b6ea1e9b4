import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import t from "tap";
import { billedCall, customerWith } from "../support/billed.ts";
import { startBrowser } from "../support/browser.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { bodies, get, paths, post, reload, send } from "../support/requests.ts";

const PAGE = "<!doctype html><title>a page of another origin</title>";
const ASKED = "access-control-request-method";
const ALLOWED = "access-control-allow-origin";

let pages: Server;
/** The origin of a page that may call. */
let origin: string;
let gateway: TestGateway;

t.before(async () => {
  pages = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end(PAGE);
  });
  pages.listen(0, "127.0.0.1");
  await once(pages, "listening");
  origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  gateway = await startGateway({ config: { headers: { cors_origins: [origin] } } });
});
t.teardown(async () => {
  pages?.close();
  await gateway?.close();
});

/** The reply to a browser's question before a request. */
const ask = (path: string, method: string, headers: Readonly<Record<string, string>> = {}) =>
  send(gateway, path, { method: "OPTIONS", headers: { origin, [ASKED]: method, ...headers } });

t.test("a script of an allowed origin, in Chromium", async (t) => {
  const browser = await startBrowser();
  t.teardown(() => browser.close());
  const open = async (address: string): Promise<Page> => {
    const page = await browser.newPage();
    await page.goto(address);
    return page;
  };
  /** Status, an exposed header and the text of a call by a page; or that the browser did not show them. */
  const call = (page: Page, path: string, key: string, body: object | undefined) =>
    page.evaluate(
      async ({ address, key, body }) => {
        try {
          const response = await fetch(address, {
            method: body ? "POST" : "GET",
            headers: {
              ...{ "x-api-key": key, "anthropic-version": "2023-06-01", "x-stainless-lang": "js" },
              ...(body && { "content-type": "application/json" }),
            },
            ...(body && { body: JSON.stringify(body) }),
          });
          const id = response.headers.get("x-request-id");
          return { status: response.status, id, text: await response.text() };
        } catch (error) {
          return { status: 0, id: null, text: String(error) };
        }
      },
      { address: gateway.url + path, key, body },
    );

  t.test("calls, streams, asks for its balance and reads errors", async (t) => {
    const page = await open(origin);
    const customer = await customerWith(gateway);
    const body = bodies.messages({ text: "hello" }, { stream: true });
    const reply = await call(page, paths.messages, customer.key, body);
    t.equal(reply.status, 200, reply.text);
    t.match(reply.text, /message_stop/);
    t.equal((await billedCall(gateway, customer))["call_id"], reply.id);
    const balance = await call(page, "/v1/balance", customer.key, undefined);
    t.equal(balance.status, 200, balance.text);
    const refused = await call(page, paths.messages, "tg-wrong", body);
    t.match(refused, { status: 401, text: /authentication_error/ });
    const missing = await call(page, "/v1/message", customer.key, undefined);
    t.match(missing, { status: 404, text: /no \/v1\/message here/ });
  });

  t.test("of another origin reads nothing, and its call is not made", async (t) => {
    // The same page by another name.
    const page = await open(origin.replace("127.0.0.1", "localhost"));
    const customer = await customerWith(gateway);
    const reply = await call(page, paths.messages, customer.key, bodies.messages());
    t.match(reply, { status: 0, text: /Failed to fetch/ });
    t.match((await get(gateway, "/v1/usage", customer)).json, { data: [] });
  });
});

t.test("a browser's question", async (t) => {
  t.test("gets the method and the headers that it names, without a key", async (t) => {
    const named = "authorization,content-type, x-stainless-os";
    const reply = await ask(paths.chat, "POST", { "access-control-request-headers": named });
    t.equal(reply.status, 200);
    t.strictSame(
      [...reply.headers].filter(([name]) => /^access-control|^vary/.test(name)),
      [
        ["access-control-allow-headers", named],
        ["access-control-allow-methods", "POST"],
        [ALLOWED, origin],
        ["access-control-expose-headers", "*"],
        ["access-control-max-age", "7200"],
        ["vary", "origin"],
      ],
    );
  });

  const refused: readonly (readonly [string, string, Record<string, string>])[] = [
    ["another origin", paths.chat, { origin: "https://example.com" }],
    ["a beginning of the origin", paths.chat, { origin: "http://127.0.0.1" }],
    ["no origin that a page has", paths.chat, { origin: "null" }],
    ["a method that the path does not take", paths.chat, { [ASKED]: "DELETE" }],
    ["pages of customers", "/account/v1/sign-in", {}],
    ["commands of operators", "/admin/v1/accounts", {}],
    ["a webhook", "/webhooks/sepay", {}],
    ["the dashboard", "/dashboard/sign-in", { [ASKED]: "GET" }],
  ];
  for (const [what, path, headers] of refused) {
    t.test(`is refused for ${what}`, async (t) => {
      const { status, headers: sent } = await ask(path, "POST", headers);
      t.ok(status === 404 || status === 405, `${status}`);
      t.equal(sent.get("access-control-allow-methods"), null);
    });
  }

  t.test("cannot put anything else into the reply", async (t) => {
    const named = "a, b; path=/";
    const { headers } = await ask(paths.chat, "POST", { "access-control-request-headers": named });
    t.equal(headers.get("access-control-allow-headers"), null);
  });
});

t.test("pages and operators' replies are shared with no origin", async (t) => {
  for (const path of ["/dashboard/sign-in", "/admin/v1/accounts", "/healthz", "/metrics"]) {
    const { headers } = await get(gateway, path, undefined, { origin });
    t.strictSame(
      [headers.get(ALLOWED), headers.get("access-control-allow-credentials")],
      [null, null],
    );
  }
});

t.test("a reload changes the origins", async (t) => {
  const customer = await customerWith(gateway);
  const allowed = async (from: string) => {
    const reply = await post(gateway, paths.chat, customer, bodies.chat(), { origin: from });
    t.equal(reply.status, 200);
    return reply.headers.get(ALLOWED);
  };
  t.strictSame([await allowed(origin), await allowed("https://a.example")], [origin, null]);
  await reload(gateway, { config: { headers: { cors_origins: ["*"] } } });
  t.strictSame([await allowed(origin), await allowed("https://a.example")], ["*", "*"]);
  t.equal((await ask(paths.chat, "POST", { origin: "https://a.example" })).status, 200);
  await reload(gateway, { config: { headers: { cors_origins: [] } } });
  t.equal(await allowed(origin), null);
  t.equal((await ask(paths.chat, "POST")).status, 405);
});
