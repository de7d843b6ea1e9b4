import t from "tap";
import { recordOf } from "../../../core/money/found-call.ts";
import { newId } from "../../../core/plugin/index.ts";
import type { PlainRequest, Route } from "../../../core/plugin/router.ts";
import { addCallRoute } from "../../../plugins/settle/call-route.ts";
import settle from "../../../plugins/settle/index.ts";
import { type Desk, deskOf } from "../../support/plugin-desk.ts";
import { posting } from "../../support/posting.ts";

const NOW = 1_750_000_000_000;

/** The reply to `GET /v1/calls/ID` for account A. */
async function shown(
  parts: {
    found?: object | undefined | Error;
    inFlightOf?: string;
    isLedgerThere?: boolean;
    callId?: string;
    archivedBefore?: Date;
  },
  params?: object,
) {
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
    callsInFlight: { accountOf: () => parts.inFlightOf },
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
  const request = { params: params ?? { call: callId }, accountId: "A", keyId: "K" };
  if (route?.access !== "key") throw new Error("the route needs no key");
  return route.handler(request as unknown as PlainRequest);
}

/** The value of `retry-after`; undefined if there is none. */
function retryOf(reply: unknown): string | undefined {
  const { headers = [] } = reply as { headers?: readonly string[] };
  const at = headers.indexOf("retry-after");
  return at < 0 ? undefined : headers[at + 1];
}

function foundCall(state: string, accountId = "A") {
  const entry = {
    posting: posting({ callId: "c", accountId }),
    chargedMicroVnd: 7,
    writtenOffMicroVnd: 0,
  };
  return { state, record: recordOf(entry as never), reason: "for operators" };
}

t.test("the explanation of a call", async (t) => {
  t.test("is final if the ledger has it", async (t) => {
    const reply = await shown({ found: foundCall("recorded") });
    t.match(reply, { status: 200, body: /"state":"recorded"/ });
  });

  t.test("is pending, with a time to try again, before that", async (t) => {
    for (const state of ["pending", "quarantined"]) {
      const reply = await shown({ found: foundCall(state) });
      t.match(reply, { status: 202, body: /"state":"pending"/ });
      t.equal(retryOf(reply), "1");
      t.notMatch(JSON.stringify(reply), /for operators|quarantined/);
    }
  });

  t.test("is pending while the call runs for the same account", async (t) => {
    const callId = newId(NOW);
    const reply = await shown({ inFlightOf: "A", callId });
    t.match(reply, { status: 202 });
    t.equal(retryOf(reply), "1");
    t.match(JSON.stringify(reply), new RegExp(callId));
    t.match(await shown({ inFlightOf: "B" }), { status: 404 });
  });

  t.test("is 404 for a call of another account", async (t) => {
    t.match(await shown({ found: foundCall("recorded", "B") }), { status: 404, param: "call" });
    t.match(await shown({}, {}), { status: 404 });
  });

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

  t.test("is 503 if the ledger is down, and a bug if it is there", async (t) => {
    const found = new Error("a bug");
    t.match(await shown({ found, isLedgerThere: false }), { status: 503 });
    await t.rejects(shown({ found }), /a bug/);
  });
});

t.test("the plugin adds the route that explains a call", async (t) => {
  const added: Route[] = [];
  settle(deskOf().services, { slice_tokens: 16 } as never).routes?.({
    addRoute: (route: Route) => added.push(route),
  } as never);
  t.match(added, [{ method: "GET", path: "/v1/calls/:call" }]);
});
