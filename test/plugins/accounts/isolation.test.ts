import assert from "node:assert/strict";
import t from "tap";
import type { Route } from "../../../core/plugin/router.ts";
import { BrowserSession, signedUp } from "../../support/browser-session.ts";
import { bootInProcess, type GatewayInProcess } from "./in-process.ts";

type SignedUp = Awaited<ReturnType<typeof signedUp>>;

/** The routes that need no session. */
const PUBLIC = new Set([
  "/maintenance",
  "/unsubscribe/:message/:token",
  "/sign-up",
  "/verify",
  "/verification/resend",
  "/sign-in",
  "/password/forgot",
  "/password/reset",
  "/password/reset/keys",
  "/catalogue",
]);
const PREFIX = "/account/v1";

t.test("an account", async (t) => {
  let world: GatewayInProcess;
  let routes: Route[];
  let owner: SignedUp;
  let stranger: SignedUp;
  let key: { readonly id: string; readonly key: string };
  t.before(async () => {
    world = await bootInProcess();
    routes = world.gateway.router.all().filter(({ path }) => path.startsWith(`${PREFIX}/`));
    owner = await signedUp(world, world.mailServer);
    stranger = await signedUp(world, world.mailServer);
    key = (await owner.post("/keys", { name: "the owner's" })).body;
  });
  t.teardown(() => world.close());

  const pathOf = (route: Route) => route.path.slice(PREFIX.length);
  const methodOf = ({ method }: Route) => method as "GET" | "POST" | "DELETE";

  async function state(): Promise<object> {
    const [me, keys, sessions, wallet] = [
      await owner.get("/me"),
      await owner.get("/keys"),
      await owner.get("/sessions"),
      await owner.get("/wallet"),
    ];
    for (const { status } of [me, keys, sessions, wallet]) assert.equal(status, 200);
    return [
      me.body,
      keys.body,
      sessions.body.data.map(({ id }: { id: string }) => id),
      wallet.body,
    ];
  }

  t.test("has routes to check", async (t) => {
    t.ok(routes.length >= 19, `${routes.length}`);
  });

  t.test("refuses requests without a session", async (t) => {
    for (const route of routes.filter((route) => !PUBLIC.has(pathOf(route)))) {
      const path = pathOf(route).replaceAll(/:\w+/g, key.id);
      const answer = await new BrowserSession(world).send(methodOf(route), path);
      t.strictSame([answer.status, answer.code], [401, "not_signed_in"], path);
    }
  });

  t.test(
    "refuses another customer's session, even with the owner's ids in the request",
    async (t) => {
      const before = await state();
      const [session] = (await owner.get("/sessions")).body.data;
      const ids = [key.id, session.id, owner.accountId];
      for (const route of routes) {
        for (const id of route.path.includes(":") ? ids : ["-"]) {
          const path = pathOf(route).replaceAll(/:\w+/g, id);
          if (path.startsWith("/sign-out")) continue;
          const body = methodOf(route) === "GET" ? undefined : { account: id, account_id: id };
          const answer = await stranger.send(methodOf(route), path, body);
          for (const secret of [key.key, owner.email, ...ids]) {
            t.ok(!answer.text.includes(secret), `${path}: ${answer.text}`);
          }
          if (id !== "-") t.equal(answer.status, 404, `${route.method} ${path}: ${answer.text}`);
        }
      }
      t.strictSame(await state(), before);
    },
  );

  t.test("stays signed in when another account signs out, on one device or on all", async (t) => {
    t.equal((await stranger.post("/sign-out-everywhere")).status, 200);
    t.equal((await stranger.get("/me")).status, 401);
    t.equal((await owner.get("/me")).status, 200);
  });

  t.test("does not accept an API key as a session", async (t) => {
    const session = new BrowserSession(world);
    session.headers = { "x-api-key": key.key, authorization: `Bearer ${key.key}` };
    t.equal((await session.get("/me")).status, 401);
  });
});
