import {
  done,
  explainedCall,
  idTime,
  type PlainRequest,
  type PlainResponse,
  type Refusal,
  type Router,
  refuse,
  type Services,
  UNREAD_BODY_BYTES_MAX,
} from "../../core/contract/index.ts";

/** Calls are committed within this, mostly. */
const RETRY_HEADERS = ["retry-after", "1"];
/** A call that another process has posted shows once it is committed, which takes longer than this only in an outage. */
const RECENT_MS = 60_000;
const PING_TIMEOUT_MS = 1_000;

/**
 * `GET /v1/calls/:call`: why a call of this key's account cost what it did. The id is `x-request-id` of the reply.
 *
 * 200: recorded. 202 with `state: pending`: running, or on its way to the ledger; ask again for the final record.
 * 404: this account has no such call, or another process has not committed it yet.
 */
export function addCallRoute(router: Router, services: Services): void {
  const { wallets, clock, ledger } = services;

  router.add({
    method: "GET",
    path: "/v1/calls/:call",
    access: "key",
    bodyBytesMax: UNREAD_BODY_BYTES_MAX,
    handler: async (request) => {
      try {
        return await answer(request);
      } catch (error) {
        if (await isLedgerThere()) throw error;
        return refuse.unavailable("The ledger does not answer; try again.");
      }
    },
  });

  async function answer({ params, accountId }: PlainRequest): Promise<PlainResponse | Refusal> {
    const callId = params["call"] ?? "";
    const found = await wallets.call(callId);
    if (found && found.record.accountId === accountId) {
      if (found.state === "recorded") return done(explainedCall(found, "api"));
      // What the ledger has refused is for the operator to mend: to the customer it is not recorded yet.
      return done(explainedCall({ ...found, state: "pending" }, "api"), 202, RETRY_HEADERS);
    }
    if (accountId !== undefined && services.callsInFlight.accountOf(callId) === accountId) {
      return done({ call_id: callId, state: "pending" }, 202, RETRY_HEADERS);
    }
    const isRecent = Math.abs(clock.now() - idTime(callId)) < RECENT_MS;
    return refuse.notFound(
      "Your account has no such call. A call that ended a moment ago may take a second to show.",
      { param: "call", headers: isRecent ? RETRY_HEADERS : [] },
    );
  }

  function isLedgerThere(): Promise<boolean> {
    return ledger.ping(PING_TIMEOUT_MS).then(
      () => true,
      () => false,
    );
  }
}
