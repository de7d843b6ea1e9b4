import type { Route } from "../catalogue/catalogue.ts";
import type { Call, FailedAttempt } from "../plugin/call.ts";

/** A call as its exchange sees it: with the fields that only core reads, or sets. */
export interface ServedCall extends Call {
  route: Route | undefined;
  attempts: number;
  failedAttempts: readonly FailedAttempt[];
  upstreamKey: string;
  firstByteAtMs: number;
  taken: boolean;
  /** Set for a reply of one JSON body, which is parsed once. */
  replyBody: Call["replyBody"];
  /** Records that an upstream was tried, or has replied. Throws if the state of the call does not allow it. */
  step(to: "dispatched" | "replying"): void;
}
