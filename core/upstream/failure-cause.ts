import type { FailedAttempt } from "../plugin/call.ts";
import type { Refused } from "./fault.ts";

/** The cause of failures of the gateway or of its config. They say nothing of the upstream. */
const OWN = "gateway";

/** By the error codes of Node and undici. Few, because a metric has one time series for each. */
const CAUSES: Readonly<Record<string, string>> = {
  ENOTFOUND: "dns",
  EAI_AGAIN: "dns",
  ECONNREFUSED: "connect",
  EHOSTUNREACH: "connect",
  ENETUNREACH: "connect",
  ETIMEDOUT: "connect",
  UND_ERR_CONNECT_TIMEOUT: "connect",
  ECONNRESET: "connection",
  EPIPE: "connection",
  UND_ERR_SOCKET: "connection",
  UND_ERR_HEADERS_TIMEOUT: "silent",
  UND_ERR_BODY_TIMEOUT: "silent",
  UND_ERR_HEADERS_OVERFLOW: "unreadable",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "unreadable",
  // Requests that undici refuses to send, and pools that a reload has closed.
  UND_ERR_INVALID_ARG: OWN,
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: OWN,
  UND_ERR_CLOSED: OWN,
  UND_ERR_DESTROYED: OWN,
  // Errors of this process: no file descriptor, port or memory is left.
  EMFILE: OWN,
  ENFILE: OWN,
  ENOBUFS: OWN,
  ENOMEM: OWN,
  EADDRNOTAVAIL: OWN,
};
const TLS = /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_)/;
/** The proxy between here and the upstream. */
const PROXY = /^the proxy /;
/** Codes of the HTTP parser, and of a body that cannot be decompressed. */
const UNREADABLE = /^(?:HPE_|Z_|ERR__ERROR_)/;

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
    return { cause: causeOf(code), reason: code };
  },
} as const;

/** Returns true if the upstream had no part in the failure, so its breaker must not count it. */
export function isOwnFailure({ cause }: FailureCause): boolean {
  return cause === OWN;
}

function causeOf(code: string): string {
  const known = CAUSES[code];
  if (known !== undefined) return known;
  if (TLS.test(code)) return "tls";
  if (PROXY.test(code)) return "connect";
  return UNREADABLE.test(code) ? "unreadable" : "connection";
}

/** Fails an attempt before anything is sent. The upstream's breaker shows its `code`. */
export class NotAuthorised extends Error {
  readonly code: string;

  constructor(reason: string) {
    super("no credentials");
    this.code = `no credentials: ${reason}`;
  }
}
