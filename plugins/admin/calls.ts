import {
  done,
  explainedCall,
  formatVnd,
  idTime,
  isId,
  type OperatorRoute,
  reading,
  refuse,
  type Services,
  usageJson,
} from "../../core/plugin/index.ts";
import { callSearch } from "./input.ts";
import { refusedBody } from "./refused.ts";

/**
 * Routes that find calls of all accounts, and show one by its id: its record, the parts of its cost, the cost computed again, and its row
 * in the ledger; of a call in flight its hold, of one that the gateway refused the cause.
 */
export function callRoutes(services: Services): OperatorRoute[] {
  const { accounts, corrections, operations, usage } = services;

  /** Returns the hold of a call in flight. */
  async function holdOf(id: string): Promise<StandingCall | undefined> {
    for await (const calls of operations.current.standing()) {
      const hold = calls.find(({ kind, callId }) => kind === "hold" && callId === id);
      if (hold) return hold;
    }
    return undefined;
  }

  /** Returns the archived month that a call with this id is of; undefined if there is none. */
  async function archivedMonthOf(id: string): Promise<string | undefined> {
    if (!isId(id)) return undefined;
    const wanted = new Date(idTime(id)).toISOString().slice(0, 7);
    const found = (await operations.current.archive.months()).find(({ month }) => month === wanted);
    return found?.state === "detached" || found?.state === "dropped" ? wanted : undefined;
  }

  /** The account of a call, with the address that people know it by. */
  async function ownerOf(accountId: string): Promise<object> {
    const emails = await accounts.emails([accountId]);
    return { account_id: accountId, email: emails.get(accountId) ?? null };
  }

  return [
    {
      method: "GET",
      path: "/calls",
      handle: reading(callSearch, async ({ account, key, from, to, ...search }) => {
        // Calls are read by account, in the order of its index.
        const owner = key === undefined ? account : await accounts.ownerOfKey(key);
        if (key !== undefined && (owner === undefined || (account ?? owner) !== owner)) {
          return done({ next: null, calls: [] });
        }
        const { records, next } = await operations.current.searchCalls({
          ...search,
          accountId: owner,
          keyId: key,
          from: from?.start,
          to: to?.end,
        });
        return done({
          next: next ? `${next.at.toISOString()},${next.callId}` : null,
          calls: records.map((record) => usageJson(record, "admin")),
        });
      }),
    },
    {
      method: "GET",
      path: "/calls/:call",
      async handle({ params }) {
        const id = params["call"] ?? "";
        const found = await operations.current.call(id);
        if (found) {
          const charge = await corrections.current.charge(id);
          return done({
            ...explainedCall(found, "admin"),
            ...(await ownerOf(found.record.accountId)),
            ledger: charge ? chargeJson(charge) : null,
            refunded_vnd: formatVnd(await corrections.current.refunded(id)),
          });
        }
        const hold = await holdOf(id);
        if (hold) {
          return done({
            state: "in_flight",
            ...(await ownerOf(hold.accountId)),
            ...heldCall(hold),
          });
        }
        const refused = isId(id) ? await usage.refusedCall(id) : undefined;
        if (refused) {
          const owner = await ownerOf(refused.accountId);
          return done({ state: "refused", ...owner, ...refusedBody(refused) });
        }
        const archived = await archivedMonthOf(id);
        if (archived) {
          return refuse.notFound(
            `${archived} is archived: look for the call in its files with \`archive read\`.`,
            { param: "call", code: "call_archived" },
          );
        }
        return refuse.notFound(
          "There is no such call. If it has just ended, try again in a few seconds.",
          "call",
        );
      },
    },
  ];
}

type StandingCall = ReturnType<Services["operations"]["current"]["unsent"]>[number];

function heldCall({ callId, microVnd, sinceMs }: StandingCall): object {
  const since = new Date(sinceMs).toISOString();
  return { call_id: callId, held_vnd: formatVnd(microVnd), since };
}

type Charge = NonNullable<Awaited<ReturnType<Services["corrections"]["current"]["charge"]>>>;

function chargeJson({ id, at, amountMicroVnd, balanceMicroVnd }: Charge): object {
  return {
    entry: String(id),
    at: at.toISOString(),
    amount_vnd: formatVnd(-amountMicroVnd),
    balance_after_vnd: formatVnd(balanceMicroVnd),
  };
}
