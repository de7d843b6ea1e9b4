import assert from "node:assert/strict";
import t from "tap";
import { admin, createCustomer } from "../../support/admin.ts";
import { signedUp } from "../../support/browser-session.ts";
import { startDashboard } from "../../support/dashboard.ts";
import { OutsideFolder } from "../../support/outside.ts";
import { type Answer, bodies, get, paths, post } from "../../support/requests.ts";

/** Refuses everywhere, with object literals instead of the factory. */
const PLUGIN = `
import { addCustomerRoutes, addOperatorRoutes, addPublicRoutes } from "tollgate/plugin";
const refusal = (place, more) => ({ status: 409, type: "invalid_request_error", message: "not " + place, ...more });
const handle = (place) => async () => refusal(place, { param: "field", headers: ["x-more", "1"] });
export default (services) => ({
  name: "written",
  admit: (call) => call.headers["x-stage"] === "admit" ? refusal("admit") : undefined,
  request: (call) => {
    if (call.headers["x-stage"] === "request") return refusal("request");
    return call.headers["x-stage"] === "late" ? Promise.resolve(refusal("late")) : undefined;
  },
  routes(router) {
    addOperatorRoutes(router, services, "/admin/v1", [
      { method: "GET", path: "/written", handle: handle("get") },
      { method: "POST", path: "/written", handle: handle("post") },
    ]);
    addCustomerRoutes(router, services, "/account/v1", [{ method: "GET", path: "/written", handle: handle("customer") }]);
    addPublicRoutes(router, services, "/w", [{ method: "GET", path: "/public", handle: handle("public") }]);
    for (const access of ["public", "own", "key"]) {
      const handler = access === "own" ? () => refusal(access) : async () => refusal(access);
      router.addRoute({ method: "GET", path: "/w/plain/" + access, access, bodyBytesMax: 0, handler });
      router.addRoute({ method: "GET", path: "/v1/messages/" + access, access, bodyBytesMax: 0, handler });
    }
  },
});
`;

t.test("a refusal as an object literal", async (t) => {
  const folder = new OutsideFolder();
  t.teardown(() => folder.remove());
  const plugin = folder.write("written.mjs", PLUGIN);
  const running = await startDashboard({ plugins: { [plugin]: true } });
  t.teardown(() => running.close());
  const gateway = running.gateway;
  const customer = await createCustomer(gateway, { creditVnd: 1000 });

  function isRefused({ status, json, headers }: Answer, place: string, more: object = {}): void {
    assert.equal(status, 409, JSON.stringify(json));
    const error = { type: "invalid_request_error", message: `not ${place}`, ...more };
    const { request_id, ...shape } = json;
    if (request_id === undefined) {
      assert.deepEqual(shape, { error: { param: null, code: null, ...error } });
    } else {
      assert.deepEqual(shape, { type: "error", error });
      assert.equal(request_id, headers.get("x-request-id"));
    }
  }

  for (const stage of ["admit", "request", "late"]) {
    t.test(`refuses a call in ${stage}, in the format of its protocol`, async (t) => {
      const headers = { "x-stage": stage };
      isRefused(await post(gateway, paths.chat, customer, bodies.chat(), headers), stage);
      const other = await post(gateway, paths.messages, customer, bodies.messages(), headers);
      isRefused(other, stage);
      t.equal(other.json.type, "error");
    });
  }

  t.test("refuses in a JSON route of every access level", async (t) => {
    const answer = await get(gateway, "/w/public", undefined);
    isRefused(answer, "public", { param: "field" });
    t.equal(answer.headers.get("x-more"), "1");
    const session = await signedUp(gateway, running.mailServer);
    const { status, body } = await session.get("/written");
    t.strictSame([status, body.error.message, body.error.param], [409, "not customer", "field"]);
    for (const answer of [
      await admin(gateway, "GET", "/written"),
      await admin(gateway, "POST", "/written", {}),
    ]) {
      t.equal(answer.status, 409);
      t.match(JSON.stringify(answer.body), /"not (?:get|post)","param":"field"/);
    }
  });

  t.test("refuses in a plain route, in the format of the client's protocol", async (t) => {
    for (const access of ["public", "own", "key"]) {
      isRefused(await get(gateway, `/w/plain/${access}`, customer), access);
      const messages = await get(gateway, `/v1/messages/${access}`, customer);
      isRefused(messages, access);
      t.equal(messages.json.type, "error");
    }
  });
});
