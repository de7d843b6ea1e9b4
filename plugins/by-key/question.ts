import {
  type addKeyRoutes,
  keyLimits,
  type PlainRequest,
  type Refusal,
  refuse,
  type Services,
  v,
} from "../../core/plugin/index.ts";

/** The key that asks, its account, and the member of a team who uses it. */
export type Caller = Parameters<Parameters<typeof addKeyRoutes>[3][number]["handle"]>[1];

/**
 * A question that a developer can ask with a key. The description of the API is made from its schemas: `query` also
 * checks the request.
 */
export interface Question {
  readonly path: string;
  readonly summary: string;
  readonly query?: v.GenericSchema<Record<string, unknown>, unknown>;
  readonly reply: v.GenericSchema;
  /** True if members of teams may ask it: the reply has nothing of other people's calls and money. */
  readonly forMembers?: boolean;
  answer(request: PlainRequest, caller: Caller): Promise<object | Refusal>;
}

export type Asked = Pick<
  Services,
  "accounts" | "balances" | "clock" | "teamMembers" | "purse" | "usage"
>;

/** Returns the wallet of a caller. */
export async function walletOf({ balances }: Asked, { accountId }: Caller) {
  const wallet = await balances(accountId);
  if (!wallet) throw new Error("a key has no wallet");
  return wallet;
}

/** Returns the key that asks; a refusal if it was revoked since it was checked. */
export async function keyOf({ accounts }: Asked, { accountId, keyId }: Caller) {
  const keys = await accounts.latestKeys(accountId, 0);
  const key = keys.find(({ id }) => id === keyId);
  if (key) return key;
  return refuse.unauthenticated("The API key was revoked; create a new one.", {
    code: "invalid_api_key",
  });
}

/** Returns the limits of a key, and with its own budgets those of the member who uses it. */
export async function limitsOf(asked: Asked, key: Parameters<typeof keyLimits.shown>[1]) {
  const { limits, budgets } = await keyLimits.shown(asked, key);
  const { memberId, accountId } = key;
  const ofMember =
    memberId === null ? undefined : await asked.teamMembers.current?.limitsOf(memberId);
  if (memberId === null || ofMember === undefined) return { limits, budgets };
  const member = { kind: "member", id: memberId } as const;
  const more = await keyLimits.budgets(asked, accountId, member, ofMember);
  return { limits, budgets: [...budgets, ...more] };
}

/** An amount in đồng, exact to a millionth. */
export const amountVnd = v.pipe(
  v.string(),
  v.regex(/^-?\d+(?:\.\d{1,6})?$/),
  v.description("An amount in đồng (VND), as a decimal with up to six places."),
);

export const count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** A time, as an ISO 8601 text in UTC. */
export const instant = v.pipe(v.string(), v.isoTimestamp());
