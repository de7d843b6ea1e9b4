import type { Call } from "../contract/call.ts";
import type { Route } from "../contract/catalogue.ts";

/** What an exchange sets in the call that it serves. */
export interface ServedCall extends Call {
  route: Route | undefined;
  attempts: number;
  firstByteAtMs: number;
  /** An upstream is asked, or has replied. Throws if the call is at no place for that. */
  step(to: "dispatched" | "replying"): void;
}
