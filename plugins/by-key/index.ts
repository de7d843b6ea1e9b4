import { readFile } from "node:fs/promises";
import {
  addKeyRoutes,
  done,
  isRefusal,
  type Plugin,
  type Refusal,
  refuse,
  type Services,
  v,
  whole,
} from "../../core/plugin/index.ts";
import { questionsOfOthers } from "./of-others.ts";
import { ownQuestions } from "./own.ts";
import type { Question } from "./question.ts";

const ERRORS = new URL("../../../plugins/by-key/public/errors.md", import.meta.url);

export const requires = ["key"];
export const reads = ["headers"];

export const options = v.strictObject({
  /** Questions per minute and key, beside the limit of its calls: each reads the ledger. */
  questions_per_minute: v.optional(whole(1, 100_000), 60),
});

/**
 * Routes for the questions that developers ask with a key: balance, usage, the key itself; also those of their tools. A
 * call with the header `x-svc-include-cost: 1` states its cost in its reply's usage.
 */
export default function byKey(
  services: Services,
  { questions_per_minute: perMinute }: v.InferOutput<typeof options>,
): Plugin {
  async function refusalOf(keyId: string): Promise<Refusal | undefined> {
    const { allowed, retryMs } = await services.rateLimiter.takeCall(
      `${keyId}:questions`,
      perMinute,
      perMinute,
    );
    if (allowed) return undefined;
    return refuse.rateLimited(
      `This key is limited to ${perMinute} questions a minute; wait for the seconds in retry-after.`,
      {
        code: "rate_limit_exceeded",
        headers: ["retry-after", String(Math.max(1, Math.ceil(retryMs / 1000)))],
      },
    );
  }

  const routeOf = ({
    path,
    forMembers = false,
    answer,
  }: Question): Parameters<typeof addKeyRoutes>[3][number] => ({
    method: "GET",
    path,
    forMembers,
    async handle(request, caller) {
      const refused = await refusalOf(caller.keyId);
      if (refused) return refused;
      const reply = await answer(request, caller);
      return isRefusal(reply) ? reply : done(reply);
    },
  });

  const { prefix } = services.config.headers;

  return {
    name: "by-key",

    request(call) {
      const { endpoint, headers, body } = call;
      if (headers[`${prefix}include-cost`] !== "1" || endpoint.conversation === undefined) return;
      call.showsCost = true;
      // The cost stands in the usage, so the client wants that too.
      const wire = services.wires[endpoint.protocol];
      if (call.stream && wire.lacksUsage(body)) wire.askForUsage(body);
    },

    routes(router) {
      const questions = [...ownQuestions(services), ...questionsOfOthers(services)];
      addKeyRoutes(router, services, "", questions.map(routeOf));
      const addPage = (path: string, type: string, make: () => Promise<string>) => {
        let made: Promise<string> | undefined;
        const handler = async () => {
          made ??= make();
          return { status: 200, headers: ["content-type", type], body: await made };
        };
        router.addRoute({ method: "GET", path, access: "public", handler });
      };
      // Described when it is asked for: by then all plugins have added their routes.
      addPage("/openapi.json", "application/json", async () => {
        const { openApi } = await import("./openapi.ts");
        return JSON.stringify(openApi(router.all(), questions, services));
      });
      // Plain text, since browsers save other Markdown as a file.
      addPage("/errors.md", "text/plain; charset=utf-8", () => readFile(ERRORS, "utf8"));
    },
  };
}
