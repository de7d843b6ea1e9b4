import { newId, type Services } from "../../core/contract/index.ts";

export const DEMO_EMAIL = "demo@tollgate.local";
/** The same at every start, so that the ledger takes it once. */
const REFERENCE = "demo";

/** The id of the demo account, which is made and credited where there is none yet. */
export async function demoAccount(
  { accounts, wallets, clock }: Services,
  amountMicroVnd: bigint,
): Promise<string> {
  const id = newId(clock.now());
  const created = await accounts.create({ id, email: DEMO_EMAIL });
  const accountId = created === "created" ? id : (await accountOf(accounts)).id;
  const result = await wallets.credit({
    accountId,
    amountMicroVnd,
    reference: REFERENCE,
    kind: "topup",
    reason: "demo credit",
  });
  if (result.kind === "credited") return accountId;
  throw new Error(
    `the demo account cannot be credited (${result.kind}): take \`demo\` out of the plugins`,
  );
}

async function accountOf(accounts: Services["accounts"]) {
  const found = await accounts.findByEmail(DEMO_EMAIL);
  if (!found) throw new Error(`there is no account ${DEMO_EMAIL}, though its address is taken`);
  return found;
}
