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

export const requires = ["key"];

export const options = v.strictObject({
  /** Questions per minute and key, beside the limit of its calls: each reads the ledger. */
  questions_per_minute: v.optional(whole(1, 100_000), 60),
});

/** Routes for the questions that developers ask with a key: balance, usage, the key itself; also those of their tools. */
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

  const routeOf = ({ path, answer }: Question): Parameters<typeof addKeyRoutes>[3][number] => ({
    method: "GET",
    path,
    async handle(request, caller) {
      const refused = await refusalOf(caller.keyId);
      if (refused) return refused;
      const reply = await answer(request, caller);
      return isRefusal(reply) ? reply : done(reply);
    },
  });

  return {
    name: "by-key",
    routes(router) {
      const questions = [...ownQuestions(services), ...questionsOfOthers(services)];
      addKeyRoutes(router, services, "", questions.map(routeOf));
    },
  };
}
