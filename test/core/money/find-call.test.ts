import t from "tap";
import { decodeEntry, encodeEntry, entryOf } from "../../../core/money/entry.ts";
import { findCall } from "../../../core/money/found-call.ts";
import type { HoldStore } from "../../../core/money/hold-store.ts";
import type { Ledger } from "../../../core/money/ledger.ts";
import { posting } from "../../support/posting.ts";

const CALL = posting({ callId: "c1", accountId: "A", costMicroVnd: 7 });
const ENTRY = entryOf("1", CALL, 7, 0);
const NEWER = decodeEntry("1", encodeEntry(CALL, 7, 0).replace('"v":1', '"v":9'));

interface Found {
  readonly waiting?: boolean;
  readonly recorded?: boolean;
  readonly aside?: unknown;
}

/** Looks for a call that is in these places. */
async function find({ waiting, recorded, aside }: Found): Promise<unknown> {
  const holdStore = { findUncommitted: () => (waiting ? ENTRY : undefined) };
  const ledger = {
    call: async () => (recorded ? { charged: 7 } : undefined),
    quarantinedCall: async () => aside,
  };
  return findCall(holdStore as unknown as HoldStore, ledger as unknown as Ledger, "c1");
}

t.test("a call is found in the ledger, then in quarantine, then in the outbox", async (t) => {
  const aside = { entry: ENTRY, reason: "refused" };
  t.match(await find({ waiting: true, recorded: true, aside }), { state: "recorded" });
  t.match(await find({ waiting: true, aside }), { state: "quarantined", reason: "refused" });
  t.match(await find({ waiting: true }), { state: "pending" });
  t.equal(await find({}), undefined);
});

t.test("a call that only a newer version can read is not found", async (t) => {
  t.equal(NEWER.posting, undefined);
  t.equal(await find({ aside: { entry: NEWER, reason: "newer" } }), undefined);
});
