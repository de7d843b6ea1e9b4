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
export const sets = ["purses"];
export const uses = ["wallets"];

export const options = v.strictObject({
  /** The budget of a key for which an operator has set no other. */
  budget_vnd: whole(0, 1_000_000_000),
});

const change = v.strictObject({ amount_vnd: v.string() });

/**
 * Refuses calls of a key whose budget is spent with 402 `key_budget_exceeded`, whatever its wallet
 * has.
 */
export default function keyBudget(
  services: Services,
  { budget_vnd }: v.InferOutput<typeof options>,
): Plugin {
  const wallets = services.wallets.current;
  /** Budgets in µđ that an operator has set, by key. */
  const budgets = new Map<string, number>();
  const budgetOf = (keyId: string) => budgets.get(keyId) ?? budget_vnd * MICRO_VND_PER_VND;

  async function shown(accountId: string, keyId: string) {
    const { spentMicroVnd, heldMicroVnd } = await wallets.purse(accountId, nameOf(keyId));
    return done({
      budget_vnd: formatVnd(budgetOf(keyId)),
      available_vnd: formatVnd(budgetOf(keyId) - spentMicroVnd - heldMicroVnd),
      held_vnd: formatVnd(heldMicroVnd),
      spent_vnd: formatVnd(spentMicroVnd),
    });
  }

  const routes: OperatorRoute[] = [
    {
      method: "POST",
      path: "/budgets/:account/:key",
      async handle({ params, body }) {
        const wanted = readBody(change, body);
        if (isRefusal(wanted)) return wanted;
        const { account = "", key = "" } = params;
        budgets.set(key, Number(parseVnd(wanted.amount_vnd) ?? 0n));
        return shown(account, key);
      },
    },
    {
      method: "GET",
      path: "/budgets/:account/:key",
      handle: ({ params: { account = "", key = "" } }) => shown(account, key),
    },
  ];

  return {
    name: "key-budget",
    request(call: Call) {
      if (call.key === undefined) return undefined;
      const { id } = call.key;
      const purse = { name: nameOf(id), limitMicroVnd: budgetOf(id), refusal: exceeded };
      call.purses = [...call.purses, purse];
      return undefined;
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
