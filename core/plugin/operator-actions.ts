/** An operator's request, as the audit trail records it. */
export interface NewAction {
  /** Identifies the token: the first characters of its SHA-256. */
  readonly operator: string;
  readonly remoteAddress: string;
  /** Method and route, `POST /admin/v1/accounts/:account/suspend`. */
  readonly action: string;
  readonly accountId: string | null;
  /** The request's parameters and fields. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface OperatorAction extends NewAction {
  readonly id: bigint;
  readonly at: Date;
  /** The status of the reply. Null if unknown: the action may or may not have been applied. */
  readonly status: number | null;
}

export interface ActionQuery {
  readonly limit: number;
  readonly before?: bigint | undefined;
  readonly accountId?: string | undefined;
}

/** The audit trail: changes by operators, in rows that cannot be changed. */
export interface OperatorActions {
  /** Records an action before it runs. If it rejects, do not run the action. */
  begin(action: NewAction): Promise<bigint>;
  /** Completes the record with the status of the reply. */
  end(id: bigint, status: number): Promise<void>;
  /** Returns actions, newest first. */
  list(query: ActionQuery): Promise<OperatorAction[]>;
}
