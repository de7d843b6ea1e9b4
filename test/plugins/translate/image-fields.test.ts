import t from "tap";
import { RequestBody } from "../../../core/body/request-body.ts";
import { isRefusal } from "../../../core/plugin/index.ts";
import type { Services } from "../../../core/plugin/services.ts";
import { withoutRefused } from "../../../plugins/translate/image-fields.ts";
import { modelOf } from "../../support/plugin-desk.ts";

const route = (upstream: string, refused_fields?: string[]) => ({
  ...{ upstream, model: "gpt-image-2", priority: 0, weight: 1, features: {} },
  profile: refused_fields ? { refused_fields } : {},
});
const upstreams = { get: () => undefined } as unknown as Services["upstreams"];

function fitted(fields: object, ...routes: ReturnType<typeof route>[]) {
  const body = RequestBody.of({ ...fields });
  const left = withoutRefused({ body }, modelOf({ routes }), { upstreams });
  return isRefusal(left) ? left : { left, body: body.json() };
}

t.test("fields that a model of images refuses", async (t) => {
  const fields = ["response_format", "input_fidelity"];
  const given = { prompt: "a", response_format: "b64_json", input_fidelity: "low" };
  t.test("are left out and named, also if only one of its routes refuses them", async (t) => {
    t.strictSame(fitted(given, route("a", fields)), { left: fields, body: { prompt: "a" } });
    t.strictSame(fitted(given, route("a"), route("b", fields)), {
      left: fields,
      body: { prompt: "a" },
    });
  });
  t.test("go on to a model that takes them", async (t) => {
    t.strictSame(fitted(given, route("a")), { left: [], body: given });
  });
  t.test("are not named if they say nothing", async (t) => {
    const nothing = { prompt: "a", response_format: null };
    t.strictSame(fitted(nothing, route("a", fields)), { left: [], body: { prompt: "a" } });
  });
  t.test("are refused if the client could not read the reply", async (t) => {
    const url = { prompt: "a", response_format: "url" };
    t.match(fitted(url, route("a", fields)), { status: 400, param: "response_format" });
    t.strictSame(fitted(url, route("a")), { left: [], body: url });
  });
});
