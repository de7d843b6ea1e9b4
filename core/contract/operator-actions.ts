export interface NewAction {
  /** Which token was used: the first characters of its SHA-256. */
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
  /** What was answered; null where that is not known, and so whether it was done. */
  readonly status: number | null;
}

export interface ActionQuery {
  readonly limit: number;
  readonly before?: bigint | undefined;
  readonly accountId?: string | undefined;
}

/** The audit trail: what operators changed, in rows that cannot be changed. */
export interface OperatorActions {
  /** Records an action before it is done; rejects if it cannot be recorded, and so must not be done. */
  begin(action: NewAction): Promise<bigint>;
  /** Completes the record with the status of the reply. */
  end(id: bigint, status: number): Promise<void>;
  /** Newest first. */
  list(query: ActionQuery): Promise<OperatorAction[]>;
}
