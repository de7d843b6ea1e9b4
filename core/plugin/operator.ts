/**
 * A kind of request that roles allow. `read`: figures and states, without the addresses of customers; `customers`: who they are;
 * `support`: their accounts and keys; `refund`: pay a call back; `money`: move money; `operations`: upstreams, models,
 * maintenance; `owner`: operators, and all that declares nothing.
 */
export type Right = (typeof EVERY)[number];

const EVERY = ["read", "customers", "support", "refund", "money", "operations", "owner"] as const;

const RIGHTS = {
  viewer: ["read"],
  support: ["read", "customers", "support", "refund"],
  finance: ["read", "customers", "refund", "money"],
  operations: ["read", "customers", "operations"],
  owner: EVERY,
} as const satisfies Readonly<Record<string, readonly Right[]>>;

type Role = keyof typeof RIGHTS;

/** The one who sends an operator's request. */
export interface Operator {
  /** As the audit trail names it: a person's e-mail address, the name of a token, or the fingerprint of the shared token. */
  readonly name: string;
  readonly role: Role;
  /** The person behind it: two names of one person are not two persons. */
  readonly person: string;
  /** True if the password or a code must be given again before money moves. */
  readonly needsProof?: boolean;
  /** The movement that a second person has approved, for the time of this request. */
  readonly approved?: { readonly accountId: string | null; readonly amountMicroVnd: bigint };
}

/** The roles of operators and their rights. */
export const roles = {
  names: ["viewer", "support", "finance", "operations", "owner"] as const satisfies Role[],
  of: (role: Role): readonly Right[] => RIGHTS[role],
  allow: (role: Role, right: Right): boolean => roles.of(role).includes(right),
};

/** A movement of money that an operator asks for. An amount below 0 takes money away. Vouchers have no account yet. */
export interface AskedMovement {
  readonly operator: Operator;
  /** The request that is sent again once the movement is approved. */
  readonly request: { readonly method: string; readonly path: string; readonly body: Buffer };
  readonly accountId: string | null;
  readonly amountMicroVnd: bigint;
}
