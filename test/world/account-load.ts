import type { Purse } from "../../core/money/hold-store.ts";
import type { Random } from "../support/random.ts";
import { TOKEN_MICRO_VND } from "./model.ts";
import { operate, TRIES_MAX } from "./operation.ts";
import type { World } from "./world.ts";

/** Maximum purses of an account at a time. */
const PURSES_MAX = 2;
/** Keys of an account that may be revoked. One more key is never revoked, so that every account is served again. */
const REVOCABLE_KEYS = 3;

/** Returns the key of an account that is never revoked. */
export const lastingKeyOf = (accountId: string) => `key of ${accountId}`;

/** Changes purses and revokes keys, and chooses those of each call. */
export class AccountLoad {
  /** Purses by account that calls may name. */
  private readonly purses = new Map<string, Purse[]>();
  private names = 0;

  constructor(
    private readonly world: World,
    private readonly random: Random,
  ) {}

  /** Returns the key and the purses of the next call. */
  next(accountId: string): { readonly keyId: string; readonly purses: readonly Purse[] } {
    const { world, random } = this;
    const isRevocable = world.plan.faults.has("keyRevoked") && random.chance(0.6);
    const purses = this.of(accountId).filter(() => random.chance(0.7));
    return { keyId: isRevocable ? this.revocableKey(accountId) : lastingKeyOf(accountId), purses };
  }

  private revocableKey(accountId: string): string {
    return `k${1 + this.random.below(REVOCABLE_KEYS)} of ${accountId}`;
  }

  private of(accountId: string): Purse[] {
    const purses = this.purses.get(accountId) ?? [];
    this.purses.set(accountId, purses);
    return purses;
  }

  /** Begins a purse, begins its next period, or gives it another limit: from the next hold on. */
  changePurse(): void {
    const { world, random } = this;
    const accountId = random.pick(world.accounts);
    const purses = this.of(accountId);
    const isNew = purses.length === 0 || (purses.length < PURSES_MAX && random.chance(0.5));
    const at = isNew ? purses.length : random.below(purses.length);
    const limitMicroVnd = random.below(world.plan.walletTokens) * TOKEN_MICRO_VND;
    const before = purses[at];
    if (before !== undefined && random.chance(0.7)) purses[at] = { ...before, limitMicroVnd };
    else {
      this.names += 1;
      purses[at] = { name: `b:${this.names}`, limitMicroVnd };
      world.purseNames.add(`${accountId}|b:${this.names}`);
    }
  }

  revoke(): void {
    const { world, random } = this;
    const accountId = random.pick(world.accounts);
    const keyId = this.revocableKey(accountId);
    operate(world, random, TRIES_MAX, {
      name: `revocation of ${keyId}`,
      run: async ({ keys }) => String(await keys?.revoke(keyId, accountId)),
      onDone: ({ process }) => world.judge.revoked(keyId, process),
    });
  }
}
