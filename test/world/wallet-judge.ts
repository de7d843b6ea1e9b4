import { ofKey } from "../../core/money/purse.ts";
import type { World } from "./world.ts";

/** Compares a wallet and its purses in both stores. Once everything has drained, they agree to the µđ. */
export function walletProblems(world: World, accountId: string): string[] {
  const { books } = world.ledger;
  const sum = books.sum(accountId);
  if (!sum) return [`${accountId} has no wallet`];
  const problems: string[] = [];
  if (sum.entriesMicroVnd !== sum.balanceMicroVnd) {
    problems.push(
      `${accountId}: the ledger entries add up to ${sum.entriesMicroVnd} µđ, but the balance is ${sum.balanceMicroVnd} µđ`,
    );
  }
  const balances = world.balancesOf(accountId);
  if (balances === undefined) return problems;
  const left = sum.balanceMicroVnd - sum.quarantinedMicroVnd;
  // A ledger that lost a credit may have more charges in quarantine than money. Later credits pay them.
  problems.push(...partProblems(accountId, balances, left > 0n ? left : 0n));
  for (const key of world.purseNames) {
    const { accountId: of, purse } = ofKey(key);
    if (of !== accountId || purse === null) continue;
    const loaded = world.balancesOf(accountId, purse);
    if (loaded === undefined) continue;
    problems.push(...partProblems(key, loaded, books.purse(accountId, purse).balanceMicroVnd));
  }
  return problems;
}

interface Parts {
  readonly availableMicroVnd: number;
  readonly heldMicroVnd: number;
  readonly uncommittedMicroVnd: number;
}

function partProblems(
  name: string,
  { availableMicroVnd, heldMicroVnd, uncommittedMicroVnd }: Parts,
  expectedMicroVnd: bigint,
): string[] {
  const parts = [availableMicroVnd, heldMicroVnd, uncommittedMicroVnd];
  if (!parts.every(Number.isSafeInteger)) return [`${name}: its parts are ${parts.join(", ")}`];
  const problems: string[] = [];
  if (heldMicroVnd !== 0) problems.push(`${name}: ${heldMicroVnd} µđ held by no call`);
  if (uncommittedMicroVnd !== 0) problems.push(`${name}: ${uncommittedMicroVnd} uncommitted`);
  const total = BigInt(availableMicroVnd + heldMicroVnd + uncommittedMicroVnd);
  if (total !== expectedMicroVnd) {
    problems.push(`${name}: ${total} µđ in the hold store, ${expectedMicroVnd} µđ in the ledger`);
  }
  return problems;
}
