import type { LimitChange } from "../../core/money/ledger.ts";
import type { Random } from "../support/random.ts";
import { TOKEN_MICRO_VND } from "./model.ts";
import { operate, TRIES_MAX } from "./operation.ts";
import type { World } from "./world.ts";

/** Maximum limits of an account at a time. */
const LIMITS_MAX = 2;
/** Keys of an account that may be revoked. One more key is never revoked, so that every account is served again. */
const REVOCABLE_KEYS = 3;

/** Returns the key of an account that is never revoked. */
export const lastingKeyOf = (accountId: string) => `key of ${accountId}`;

/** Changes limits beside wallets and revokes keys, and chooses those of each call. */
export class AccountLoad {
  private readonly world: World;
  private readonly random: Random;
  /** Limits by account that calls may name: a gateway has confirmed them. */
  private readonly limits = new Map<string, string[]>();
  private names = 0;
  private references = 0;

  constructor(world: World, random: Random) {
    this.world = world;
    this.random = random;
  }

  /** Returns the key and the limits of the next call. */
  next(accountId: string): { readonly keyId: string; readonly limits: readonly string[] } {
    const { world, random } = this;
    const isRevocable = world.plan.faults.has("keyRevoked") && random.chance(0.6);
    const limits = this.of(accountId).filter(() => random.chance(0.7));
    return { keyId: isRevocable ? this.revocableKey(accountId) : lastingKeyOf(accountId), limits };
  }

  private revocableKey(accountId: string): string {
    return `k${1 + this.random.below(REVOCABLE_KEYS)} of ${accountId}`;
  }

  private of(accountId: string): string[] {
    const names = this.limits.get(accountId) ?? [];
    this.limits.set(accountId, names);
    return names;
  }

  changeLimit(): void {
    const { world, random } = this;
    const accountId = random.pick(world.accounts);
    const names = this.of(accountId);
    const isNew = names.length === 0 || (names.length < LIMITS_MAX && random.chance(0.5));
    if (!isNew && random.chance(0.25)) return this.removeLimit(accountId, random.pick(names));
    this.names += isNew ? 1 : 0;
    this.references += 1;
    const kind = isNew
      ? random.pick(["create", "set", "add"] as const)
      : random.pick(["set", "add"] as const);
    const tokens = random.below(world.plan.walletTokens);
    const isLowered = kind === "add" && !isNew && random.chance(0.4);
    const change: LimitChange = {
      accountId,
      name: isNew ? `b${this.names}` : random.pick(names),
      kind,
      amountMicroVnd: BigInt(tokens * TOKEN_MICRO_VND) * (isLowered ? -1n : 1n),
      reference: `l${this.references}`,
      reason: null,
    };
    operate(world, random, random.chance(0.8) ? TRIES_MAX : 1, {
      name: `limit ${change.reference}`,
      run: async ({ wallets }) => (await wallets.changeLimit(change)).kind,
      onDone: (_, end) => {
        if (isNew && end === "changed") names.push(change.name);
      },
    });
  }

  private removeLimit(accountId: string, name: string): void {
    const { world, random } = this;
    const names = this.of(accountId);
    names.splice(names.indexOf(name), 1);
    operate(world, random, random.chance(0.8) ? TRIES_MAX : 1, {
      name: `removal of limit ${name}`,
      run: async ({ wallets }) => String(await wallets.removeLimit(accountId, name)),
    });
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
