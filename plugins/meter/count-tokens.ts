import { isRefusal, type Router, refuse, type Services } from "../../core/plugin/index.ts";
import type { Count } from "./count-thread.ts";
import { PublishedCounts } from "./published.ts";

/** The models that clients of Messages may name. */
const MESSAGES = { protocol: "messages", serves: ["messages", "chat"] } as const;

const THREAD = new URL("./count-thread.js", import.meta.url);
const MB = 1_048_576;
/** The limits of the threads that count. Claude Code sends 12 counts at once for `/context`, in each of its sessions: an account may have 64 short ones waiting. */
export const COUNTING = {
  ...{ threads: 1, heapMb: 768, leastBytes: MB / 4 },
  ...{ waitingBytesMax: 64 * MB, waitingBytesOfAccountMax: 16 * MB },
  /** With the time to load the tokenizer: a second, but many on a busy machine. */
  jobMs: 120_000,
};

/**
 * Adds `POST /v1/messages/count_tokens`, which counts input tokens free of charge, as the model's
 * provider does. Resolves model names as calls do.
 */
export function addCountTokensRoute(
  router: Router,
  threads: ReturnType<Services["newThreads"]>,
  services: Services,
): void {
  const published = new PublishedCounts(services.upstreams);
  router.addRoute({
    method: "POST",
    path: "/v1/messages/count_tokens",
    access: "key",
    bodyBytesMax: services.config.limits.bodyBytesMax,
    handler: async ({ body, requestId, keyId = "", accountId = "" }) => {
      const caller = { id: requestId, key: { id: keyId, accountId }, gone: false };
      const count = await threads.run<Count>(caller, THREAD, undefined, body, true);
      if (isRefusal(count)) return count;
      if ("problem" in count) return refuse.badRequest(count.problem, count.param);
      const named = services.modelNames.current.resolve(count.model, MESSAGES);
      if (isRefusal(named)) return named;
      const headers = ["content-type", "application/json", ...named.headers];
      const input_tokens = published.inputTokens(count.input, named.model);
      return { status: 200, headers, body: JSON.stringify({ input_tokens }) };
    },
  });
}
