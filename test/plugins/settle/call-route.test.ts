import t from "tap";
import { recordOf } from "../../../core/money/found-call.ts";
import { newId } from "../../../core/plugin/index.ts";
import type { PlainRequest, Route } from "../../../core/plugin/router.ts";
import { addCallRoute } from "../../../plugins/settle/call-route.ts";
import { type Desk, deskOf } from "../../support/plugin-desk.ts";
import { posting } from "../../support/posting.ts";

const NOW = 1_750_000_000_000;

/** The reply to `GET /v1/calls/ID` for account A. */
async function shown(parts: {
  found?: object;
  isLedgerThere?: boolean;
  callId?: string;
  archivedBefore?: Date;
}) {
  let route: Route | undefined;
  const desk: Desk = deskOf({
    wallets: {
      current: {
        call: async () => {
          if (parts.found instanceof Error) throw parts.found;
          return parts.found;
        },
      },
    },
    usage: { archivedCall: async () => parts.archivedBefore },
    callsInFlight: { accountOf: () => undefined },
    status: {
      holdStoreHealth: () => ({ kind: "ok" }),
      pingLedger: async () => {
        if (parts.isLedgerThere === false) throw new Error("connection refused");
      },
    },
  });
  desk.nowMs = NOW;
  addCallRoute({ addRoute: (added: Route) => (route = added) } as never, desk.services);
  const callId = parts.callId ?? newId(NOW - 1_000);
  const request = { params: { call: callId }, accountId: "A", keyId: "K" };
  if (route?.access !== "key") throw new Error("the route needs no key");
  return route.handler(request as unknown as PlainRequest);
}

/** The value of `retry-after`; undefined if there is none. */
function retryOf(reply: unknown): string | undefined {
  const { headers = [] } = reply as { headers?: readonly string[] };
  const at = headers.indexOf("retry-after");
  return at < 0 ? undefined : headers[at + 1];
}

t.test("the explanation of a call", async (t) => {
  t.test("says when to try again only if the call may have just ended", async (t) => {
    for (const [ageMs, retry] of [
      [59_999, "1"],
      [-59_999, "1"],
      [60_000, undefined],
      [-60_000, undefined],
    ] as const) {
      const reply = await shown({ callId: newId(NOW - ageMs) });
      t.match(reply, { status: 404 });
      t.equal(retryOf(reply), retry, `${ageMs} ms`);
    }
  });

  t.test("says that the calls of its time are archived", async (t) => {
    const archivedBefore = new Date(NOW - 1);
    const archived = { status: 404, code: "call_archived", message: /2025-06-15T15:06:39.999Z/ };
    t.match(await shown({ archivedBefore }), archived);
    t.match(await shown({}), { status: 404, code: null });
  });

  t.test("of a call in quarantine is pending, and does not say why", async (t) => {
    const post = posting({ callId: "c", accountId: "A" });
    const record = recordOf({ posting: post, chargedMicroVnd: 7, writtenOffMicroVnd: 0 } as never);
    const reply = await shown({ found: { state: "quarantined", record, reason: "for operators" } });
    t.match(reply, { status: 202, body: /"state":"pending"/ });
    t.equal(retryOf(reply), "1");
    t.notMatch(JSON.stringify(reply), /for operators|quarantined/);
  });

  t.test("is 503 if the ledger is down, and a bug if it is there", async (t) => {
    const found = new Error("a bug");
    t.match(await shown({ found, isLedgerThere: false }), { status: 503 });
    await t.rejects(shown({ found }), /a bug/);
  });
});
