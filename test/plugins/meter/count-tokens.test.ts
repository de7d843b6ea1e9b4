import assert from "node:assert/strict";
import t from "tap";
import { type Refusal, refuse, v } from "../../../core/plugin/index.ts";
import type { PlainRequest, Route } from "../../../core/plugin/router.ts";
import type { Count } from "../../../plugins/meter/count-thread.ts";
import { addCountTokensRoute } from "../../../plugins/meter/count-tokens.ts";
import meter, { options } from "../../../plugins/meter/index.ts";
import type { CountedInput } from "../../../plugins/meter/tokenize.ts";
import { deskOf, modelOf } from "../../support/plugin-desk.ts";

const INPUT: CountedInput = {
  ...{ textTokens: 11.5, earlierThinkingTokens: 0, images: [], pages: 0, pdfBytes: 0 },
  ...{ documentBytes: 0, hasTools: false, isForced: false, hasSchema: false },
};

/** The reply to a request of key K whose tokens the thread counts so; `asked` has what it was asked. */
async function reply(count: Count | Refusal) {
  const asked: unknown[] = [];
  const run = async (call: object, ...[, , body, isLent]: unknown[]) => {
    asked.push([call, body, isLent]);
    return count;
  };
  let route: Route | undefined;
  const { services } = deskOf({
    config: { limits: { bodyBytesMax: 123 } },
    modelNames: {
      current: {
        resolve(name: unknown, endpoint: { protocol: string }) {
          asked.push([name, endpoint.protocol]);
          if (name !== "sim-large") return refuse.notFound("no such model");
          return { model: modelOf(), headers: ["x-svc-model", "sim-large"] };
        },
      },
    },
  });
  const router = { addRoute: (added: Route) => (route = added) };
  addCountTokensRoute(router as never, { run } as never, services);
  if (route?.access !== "key") throw new Error("the route needs no key");
  const body = Buffer.from("{}");
  const request = { body, requestId: "R", keyId: "K", accountId: "A" };
  const got = await route.handler(request as PlainRequest);
  return { got, asked, route };
}

t.test("counting tokens", async (t) => {
  t.test("returns the count, with the headers of the model that was named", async (t) => {
    const { got, asked, route } = await reply({
      input: INPUT,
      model: "sim-large",
    });
    t.strictSame(got, {
      status: 200,
      headers: ["content-type", "application/json", "x-svc-model", "sim-large"],
      body: '{"input_tokens":12}',
    });
    t.strictSame(asked, [
      [{ id: "R", key: { id: "K", accountId: "A" }, gone: false }, Buffer.from("{}"), true],
      ["sim-large", "messages"],
    ]);
    t.equal(`${route.method} ${route.path}`, "POST /v1/messages/count_tokens");
    t.equal(route.bodyBytesMax, 123);
  });

  t.test("refuses a model that does not exist", async (t) => {
    const { got } = await reply({ input: INPUT, model: undefined });
    t.match(got, { status: 404 });
  });

  t.test("says why there is no count, before it looks at the model", async (t) => {
    const invalid = await reply({ problem: "messages: needed", param: "messages" });
    t.match(invalid.got, { status: 400, message: "messages: needed", param: "messages" });
    t.equal(invalid.asked.length, 1);
    const tooMany = refuse.rateLimited("too many");
    t.equal((await reply(tooMany)).got, tooMany);
  });

  t.test("keeps its threads when a reload asks for the routes again", async (t) => {
    let made = 0;
    const { services } = deskOf({
      config: { limits: { bodyBytesMax: 1 }, headers: { prefix: "x-svc-" } },
      newThreads: () => ({ run: () => assert.fail("nothing is counted"), made: ++made }),
    });
    const plugin = meter(services, v.parse(options, {}));
    for (const _ of [1, 2]) plugin.routes?.({ addRoute: () => {} } as never);
    t.equal(made, 1);
  });
});
