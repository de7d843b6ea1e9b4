import type { FailedAttempt } from "../plugin/call.ts";
import { objectOf } from "../process/json.ts";
import type { Refused } from "./fault.ts";

/** The cause of failures of the gateway or of its config. They say nothing of the upstream. */
const OWN = "gateway";

/**
 * By the error codes of Node and undici; any other code is of the connection. Few, because a metric has one time series for
 * each.
 */
const CAUSES: readonly (readonly [cause: string, codes: RegExp])[] = [
  ["dns", /^(?:ENOTFOUND|EAI_)/],
  ["connect", /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/],
  // The proxy between here and the upstream.
  ["connect", /^the proxy /],
  ["silent", /^UND_ERR_(?:HEADERS|BODY)_TIMEOUT$/],
  ["unreadable", /^UND_ERR_(?:HEADERS_OVERFLOW|RES_CONTENT_LENGTH_MISMATCH)$/],
  // Codes of the HTTP parser, and of a body that cannot be decompressed.
  ["unreadable", /^(?:HPE_|Z_|ERR__ERROR_)/],
  ["tls", /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_)/],
  // Requests that undici refuses to send, and pools that a reload has closed.
  [OWN, /^UND_ERR_(?:INVALID_ARG|REQ_CONTENT_LENGTH_MISMATCH|CLOSED|DESTROYED)$/],
  // Errors of this process: no file descriptor, port or memory is left.
  [OWN, /^(?:EMFILE|ENFILE|ENOBUFS|ENOMEM|EADDRNOTAVAIL)$/],
];

/** Why an attempt failed: a cause for metrics, and the reason for operators. No content of a call. */
export type FailureCause = Pick<FailedAttempt, "cause" | "reason">;

export const failures = {
  /** The upstream refused. Names what is known of the refusal, without its text. */
  refused: ({ status, type, code, row, fault }: Refused): FailureCause => {
    const cause = fault === "upstream" || fault === "caller" ? `http_${status}` : fault;
    const names = [type, code].filter((name) => name !== undefined);
    const known = row === "status" ? "" : ` (${row})`;
    return { cause, reason: `HTTP ${[status, ...names].join(" ")}${known}` };
  },
  cut: { cause: "cut", reason: "a stream ended before completion" } as FailureCause,
  empty: { cause: "empty", reason: "an empty reply" } as FailureCause,
  unreadable: (reason: string): FailureCause => ({ cause: "unreadable", reason }),
  silent: (limitMs: number): FailureCause => ({
    cause: "silent",
    reason: `silent for ${limitMs} ms`,
  }),
  byError: (error: Error): FailureCause => {
    const code = "code" in error ? error.code : undefined;
    if (error instanceof NotAuthorised) return { cause: "credentials", reason: error.code };
    if (typeof code !== "string") return { cause: "connection", reason: "the connection failed" };
    const cause = CAUSES.find(([, codes]) => codes.test(code))?.[0] ?? "connection";
    return { cause, reason: code };
  },
} as const;

/** Returns true if the upstream had no part in the failure, so its breaker must not count it. */
export function isOwnFailure({ cause }: FailureCause): boolean {
  return cause === OWN;
}

/** Fails an attempt before anything is sent. The upstream's breaker shows its `code`. */
export class NotAuthorised extends Error {
  readonly code: string;

  /** Of the error that a kind has thrown. Never has its message, which may quote a token or an address with one. */
  static by(error: unknown): NotAuthorised {
    if (!(error instanceof Error)) return new NotAuthorised("unknown");
    const { code } = "code" in error ? error : (objectOf(error.cause) ?? {});
    return new NotAuthorised(typeof code === "string" ? code : error.name);
  }

  constructor(reason: string) {
    super("no credentials");
    this.code = `no credentials: ${reason}`;
  }
}
