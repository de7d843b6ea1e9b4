import { done, isId, type OperatorRoute, type Services } from "../../core/plugin/index.ts";
import { unknownAccount } from "./unknown.ts";

/** Route that shows the calls of an account that the gateway refused: counts by day, and the last ones. */
export function refusedRoutes({ accounts, usage }: Services): OperatorRoute[] {
  return [
    {
      method: "GET",
      path: "/accounts/:account/refused",
      async handle({ params }) {
        const id = params["account"] ?? "";
        if (!isId(id) || !(await accounts.find(id))) return unknownAccount(id);
        const { counts, last } = await usage.refused(id, {});
        return done({ counts: counts.map(countBody), last: last.map(refusedBody) });
      },
    },
  ];
}

export function refusedBody(
  call: Awaited<ReturnType<Services["usage"]["refused"]>>["last"][number],
): object {
  const { callId, at, keyId, endpoint, model, status, cause } = call;
  return { call_id: callId, at, key_id: keyId, endpoint, model, status, cause };
}

function countBody({
  day,
  keyId,
  status,
  cause,
  calls,
  lastAt,
}: Awaited<ReturnType<Services["usage"]["refused"]>>["counts"][number]): object {
  return { day, key_id: keyId, status, cause, calls, last_at: lastAt };
}
