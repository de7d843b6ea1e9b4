import {
  addOperatorRoutes,
  type Call,
  done,
  formatVnd,
  isRefusal,
  MICRO_VND_PER_VND,
  type OperatorRoute,
  type Plugin,
  parseVnd,
  type Refusal,
  readBody,
  refuse,
  type Services,
  v,
  whole,
} from "../../core/plugin/index.ts";

export const requires = ["key"];
export const sets = ["limits"];
export const uses = ["wallets"];

export const options = v.strictObject({
  /** The first budget of a key that has none yet. */
  budget_vnd: whole(0, 1_000_000_000),
});

const change = v.strictObject({ amount_vnd: v.string(), reference: v.string() });

/**
 * Refuses calls of a key whose budget is spent with 402 `key_budget_exceeded`, whatever its wallet
 * has.
 */
export default function keyBudget(
  services: Services,
  { budget_vnd }: v.InferOutput<typeof options>,
): Plugin {
  const wallets = services.wallets.current;
  const amountMicroVnd = BigInt(budget_vnd) * BigInt(MICRO_VND_PER_VND);
  /** Keys whose budget is known to exist. */
  const known = new Set<string>();

  /** Creates the budget of a key that has none; one that an operator has set stays. */
  async function begin(accountId: string, keyId: string): Promise<Refusal | undefined> {
    const limit = { accountId, name: nameOf(keyId), reason: null };
    const reference = `first budget of ${keyId}`;
    try {
      const { kind } = await wallets.changeLimit({
        ...limit,
        kind: "create",
        amountMicroVnd,
        reference,
      });
      if (kind !== "changed") return refuse.unavailable(`The key has no budget: ${kind}.`);
    } catch {
      return refuse.unavailable("The budget of the key cannot be read at the moment.");
    }
    known.add(keyId);
    return undefined;
  }

  function count(call: Call, keyId: string): undefined {
    call.limits = [...call.limits, { name: nameOf(keyId), refusal: exceeded }];
    return undefined;
  }

  const routes: OperatorRoute[] = [
    {
      method: "POST",
      path: "/budgets/:account/:key",
      async handle({ params, body }) {
        const wanted = readBody(change, body);
        if (isRefusal(wanted)) return wanted;
        const [accountId = "", keyId = ""] = [params["account"], params["key"]];
        const limit = { accountId, name: nameOf(keyId), reference: wanted.reference, reason: null };
        const amountMicroVnd = parseVnd(wanted.amount_vnd) ?? -1n;
        const result = await wallets.changeLimit({ ...limit, kind: "set", amountMicroVnd });
        if (result.kind !== "changed") return refuse.conflict(result.kind, { code: result.kind });
        return done({ left_vnd: formatVnd(result.limit.availableMicroVnd) });
      },
    },
    {
      method: "GET",
      path: "/budgets/:account/:key",
      async handle({ params }) {
        const left = await wallets.limit(params["account"] ?? "", nameOf(params["key"] ?? ""));
        if (left === undefined) return refuse.notFound("This key has no budget yet.");
        return done({
          budget_vnd: formatVnd(left.totalMicroVnd),
          available_vnd: formatVnd(left.availableMicroVnd),
          held_vnd: formatVnd(left.heldMicroVnd),
          pending_vnd: formatVnd(left.uncommittedMicroVnd),
        });
      },
    },
  ];

  return {
    name: "key-budget",
    request(call) {
      if (call.key === undefined) return undefined;
      const { id, accountId } = call.key;
      if (known.has(id)) return count(call, id);
      return begin(accountId, id).then((refusal) => refusal ?? count(call, id));
    },
    routes: (router) => addOperatorRoutes(router, services, "/admin/v1", routes),
  };
}

function nameOf(keyId: string): string {
  return `key:${keyId}`;
}

function exceeded(availableMicroVnd: number): Refusal {
  const left = formatVnd(availableMicroVnd);
  return refuse.insufficientBalance(`The budget of this key has ${left} đ left.`, {
    code: "key_budget_exceeded",
  });
}
