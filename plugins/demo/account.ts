import { newId, type Services } from "../../core/plugin/index.ts";

export const DEMO_EMAIL = "demo@tollgate.local";
export const OPERATOR_EMAIL = "operator@tollgate.local";
/** Returns the id of the demo account; creates and credits it if it is missing. Rejects if it cannot be credited. */
export async function demoAccount(
  { accounts, wallets, clock }: Services,
  amountMicroVnd: bigint,
): Promise<string> {
  const id = newId(clock.now());
  const created = await accounts.create({ id, email: DEMO_EMAIL });
  const accountId = created === "created" ? id : (await accountOf(accounts)).id;
  const result = await wallets.current.credit({
    accountId,
    amountMicroVnd,
    // The same at every start, so that the ledger applies it once; another account may have had this address before.
    reference: `demo:${accountId}`,
    kind: "topup",
    reason: "demo credit",
  });
  if (result.kind === "credited") return accountId;
  throw new Error(
    `cannot credit the demo account (${result.kind}); delete \`demo\` from the plugins`,
  );
}

async function accountOf(accounts: Services["accounts"]) {
  const found = await accounts.findByEmail(DEMO_EMAIL);
  if (!found)
    throw new Error(`cannot find the account ${DEMO_EMAIL}, although its address is taken`);
  return found;
}
