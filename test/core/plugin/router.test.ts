import t from "tap";
import { type Match, Router } from "../../../core/plugin/router.ts";

function routerOf(...routes: readonly string[]): Router {
  const router = new Router();
  for (const route of routes) {
    const [method = "", path = ""] = route.split(" ");
    const handler = () => ({ status: 200 });
    router.addRoute({ method, path, access: "public", bodyBytesMax: 0, handler });
  }
  return router;
}

/** A match as one line of text. */
function lineOf(match: Match): string {
  if (match.kind === "route") {
    const params = Object.entries(match.params).map(([name, value]) => ` ${name}=${value}`);
    return `${match.route.method} ${match.route.path}${params.join("")}`;
  }
  if (match.kind === "unclear") return "400";
  return match.kind === "method" ? `405 ${match.allowed.join()}` : "404";
}

const router = routerOf(
  "GET /v1/models",
  "GET /v1/models/*",
  "POST /v1/messages",
  "GET /accounts/:id",
  "POST /accounts/:id/keys",
  "GET /accounts/all",
  "POST /accounts/all",
);

t.test("a router", async (t) => {
  for (const [request, expected] of [
    ["GET /v1/models", "GET /v1/models"],
    ["HEAD /v1/models", "GET /v1/models"],
    ["HEAD /v1/models/x", "GET /v1/models/* *=x"],
    ["GET /v1/models/req/x", "GET /v1/models/* *=req/x"],
    ["GET /v1/models/", "GET /v1/models/* *="],
    ["GET /v1/modelsx", "404"],
    ["POST /v1/models", "405 GET"],
    ["PUT /v1/models", "405 GET"],
    ["HEAD /v1/messages", "405 POST"],
    ["get /v1/models", "405 GET"],
    ["GET /accounts/7", "GET /accounts/:id id=7"],
    ["GET /v1/models/req%2Fx", "GET /v1/models/* *=req%2Fx"],
    ["GET /v1/models/req%2f..%2fx", "400"],
    ["GET /v1/models/..", "400"],
    ["GET /v1/models/a%5cb", "400"],
    ["GET /v1%2fmodels", "400"],
    ["GET /accounts/a%2Fb", "400"],
    ["GET /accounts/a%2F..", "400"],
    ["GET /accounts/a\\b", "400"],
    ["GET /accounts/..", "400"],
    ["GET /accounts/.", "400"],
    ["GET /accounts/%2e%2E", "400"],
    ["GET /accounts/.%2e/accounts/7", "400"],
    ["GET /x/../accounts/7", "400"],
    ["DELETE /accounts/%2e", "400"],
    ["GET /accounts/...", "GET /accounts/:id id=..."],
    ["GET /accounts/.a", "GET /accounts/:id id=.a"],
    ["GET /accounts/a.b", "GET /accounts/:id id=a.b"],
    ["GET /accounts/a%252fb", "GET /accounts/:id id=a%2fb"],
    ["GET //accounts/7", "404"],
    ["GET /accounts//keys", "404"],
    ["GET /accounts/%", "404"],
    ["GET /accounts/%C3", "404"],
    ["GET /accounts/", "404"],
    ["GET /accounts", "404"],
    ["GET /accounts/7/", "404"],
    ["GET /accounts/all", "GET /accounts/all"],
    ["POST /accounts/7/keys", "POST /accounts/:id/keys id=7"],
    ["GET /accounts/7/keys", "405 POST"],
    ["GET /v1//models", "404"],
    ["GET /v1/models?x=1", "404"],
    ["GET /__proto__", "404"],
    ["constructor /v1/models", "405 GET"],
    ["GET ", "404"],
  ] as const) {
    t.test(`takes ${request} to ${expected}`, async (t) => {
      const [method = "", path = ""] = request.split(" ");
      t.equal(lineOf(router.match(method, path)), expected);
    });
  }

  t.test("rejects a second route for the same method and path", async (t) => {
    t.throws(() => routerOf("GET /a", "GET /a"), /two routes for GET \/a/);
  });

  t.test("lists every route", async (t) => {
    t.equal(router.all().length, 7);
  });
});
