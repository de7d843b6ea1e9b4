/**
 * Where a call stands in its life.
 *
 * - `admitting`: plugins decide by its headers, while its body may arrive already.
 * - `reading`: admitted; its body arrives. Or refused, and its chunked body is read to its end.
 * - `requesting`: plugins decide by its body.
 * - `dispatched`: an upstream, or the route's own handler, has it.
 * - `replying`: the upstream has replied; the sinks carry the reply to the client.
 * - `closing`: its end is decided; the `close` of every plugin it has reached runs, once.
 * - `ended`: the last byte has left, or the connection was cut.
 */
export type CallState =
  | "admitting"
  | "reading"
  | "requesting"
  | "dispatched"
  | "replying"
  | "closing"
  | "ended";

/**
 * The steps that are allowed. A call that is refused, that fails or whose client leaves goes to `closing` from
 * wherever it stands; from `admitting` and `requesting` only when no plugin's verdict is pending.
 */
export const STEPS: Readonly<Record<CallState, readonly CallState[]>> = {
  admitting: ["reading", "closing"],
  // Routes with a handler of their own have no request plugins.
  reading: ["requesting", "dispatched", "closing"],
  requesting: ["dispatched", "closing"],
  // The next route is tried before the first byte.
  dispatched: ["dispatched", "replying", "closing"],
  replying: ["closing"],
  closing: ["ended"],
  ended: [],
};

/** A step that the table does not have: a bug of the gateway's own. */
export class StepOutOfOrder extends Error {
  constructor(from: CallState, to: CallState) {
    super(`a call cannot go from "${from}" to "${to}"`);
    this.name = "StepOutOfOrder";
  }
}

/** True once the end of a call is decided: nothing can change it any more. */
export function isOver(state: CallState): boolean {
  return state === "closing" || state === "ended";
}
