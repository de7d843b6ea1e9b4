import {
  addKeyRoutes,
  done,
  explainedCall,
  idTime,
  type PlainRequest,
  type PlainResponse,
  type Refusal,
  type Router,
  refuse,
  type Services,
} from "../../core/plugin/index.ts";

/** Headers of a pending reply: most calls are committed within 1 s. */
const RETRY_HEADERS = ["retry-after", "1"];
/** A call posted by another process is visible once it is committed, which takes less than this without an outage. */
const RECENT_MS = 60_000;

type Caller = Parameters<Parameters<typeof addKeyRoutes>[3][number]["handle"]>[1];

/**
 * `GET /v1/calls/:call` explains the cost of a call of this key's account; to a member of a team, of a call of this key. The id is `x-request-id` of the reply.
 *
 * - 200: the final record.
 * - 202 with `state: pending`: in flight, or not committed yet; request it again for the final record.
 * - 404: this account has no such call, or another process has not committed it yet. With the code
 *   `call_archived`, the account had calls on the day of this id, and the operator has archived them.
 */
export function addCallRoute(router: Router, services: Services): void {
  const { wallets, clock, usage } = services;

  addKeyRoutes(router, services, "/v1", [
    { method: "GET", path: "/calls/:call", forMembers: true, handle: answer },
  ]);

  async function answer(
    { params }: PlainRequest,
    { accountId, keyId, memberId }: Caller,
  ): Promise<PlainResponse | Refusal> {
    const callId = params["call"] ?? "";
    const found = await wallets.current.call(callId);
    const isOwn = memberId === null || found?.record.keyId === keyId;
    if (found && found.record.accountId === accountId && isOwn) {
      if (found.state === "recorded") return done(explainedCall(found, "api"));
      // A quarantined call waits for an operator, so the customer sees it as pending.
      return done(explainedCall({ ...found, state: "pending" }, "api"), 202, RETRY_HEADERS);
    }
    if (services.callsInFlight.accountOf(callId) === accountId) {
      return done({ call_id: callId, state: "pending" }, 202, RETRY_HEADERS);
    }
    const archivedBefore = await usage.archivedCall(accountId, callId);
    if (archivedBefore) {
      return refuse.notFound(
        `Calls before ${archivedBefore.toISOString()} are archived: if this call is your account's, ask the operator ` +
          "for its record. The totals of your usage include it.",
        { param: "call", code: "call_archived" },
      );
    }
    const isRecent = Math.abs(clock.now() - idTime(callId)) < RECENT_MS;
    return refuse.notFound(
      "Your account has no such call. If it has just ended, try again in a second.",
      { param: "call", headers: isRecent ? RETRY_HEADERS : [] },
    );
  }
}
