import { formatVnd } from "../../catalogue/amount.ts";

/** The parts of a wallet in µđ: `balance` is the sum of the three others. */
interface WalletParts {
  readonly balanceMicroVnd: number | bigint;
  readonly heldMicroVnd: number | bigint;
  readonly availableMicroVnd: number | bigint;
  readonly uncommittedMicroVnd: number | bigint;
}

/** Returns a wallet as every API shows it: decimal strings in đồng. */
export function walletJson(wallet: WalletParts) {
  return {
    balance_vnd: formatVnd(wallet.balanceMicroVnd),
    held_vnd: formatVnd(wallet.heldMicroVnd),
    available_vnd: formatVnd(wallet.availableMicroVnd),
    pending_vnd: formatVnd(wallet.uncommittedMicroVnd),
  };
}
