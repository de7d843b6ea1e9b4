/**
 * A refusal is a value, not an exception: what the gateway answers instead of serving a call.
 * Returning one costs about 25 ns, throwing one about 3.7 µs.
 */
export type RefusalType =
  | "invalid_request_error"
  | "authentication_error"
  | "insufficient_balance"
  | "permission_error"
  | "not_found_error"
  | "request_too_large"
  | "rate_limit_error"
  | "api_error"
  | "timeout_error"
  | "service_unavailable";

export class Refusal {
  readonly status: number;
  readonly type: RefusalType;
  /** For the caller's eyes: what is wrong and what to do. Never a secret, never a prompt. */
  readonly message: string;
  /** The request field at fault, where there is one. */
  readonly param: string | null;
  readonly code: string | null;
  /** Extra response headers, name and value in turn. */
  readonly headers: readonly string[];

  constructor(
    status: number,
    type: RefusalType,
    message: string,
    detail: { param?: string | null; code?: string | null; headers?: readonly string[] } = {},
  ) {
    this.status = status;
    this.type = type;
    this.message = message;
    this.param = detail.param ?? null;
    this.code = detail.code ?? null;
    this.headers = detail.headers ?? [];
  }
}

export function invalidRequest(message: string, param: string | null = null): Refusal {
  return new Refusal(400, "invalid_request_error", message, { param });
}

export function accountSuspended(): Refusal {
  return new Refusal(403, "permission_error", "This account is suspended; write to support.");
}

export function serviceUnavailable(message: string): Refusal {
  return new Refusal(503, "service_unavailable", message, { headers: ["retry-after", "1"] });
}
