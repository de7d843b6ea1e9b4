import type { Pulse } from "./membership-options.ts";
import type { Session } from "./session.ts";
import type { BucketView } from "./view.ts";

interface Look {
  readonly session: Session;
  /** The bucket as the last round found it. */
  readonly view: BucketView | undefined;
  /** True if this process commits posts of an earlier epoch before it joins the present one. */
  readonly isMoving: boolean;
  readonly isListWanted: boolean;
  /** True if only the members that changed need be named. */
  readonly isOutdated: boolean;
  readonly pulse: Pulse;
  readonly isCluster: boolean;
}

/** Returns the arguments of `look.lua` after the process. */
export function lookArguments(look: Look): string[] {
  const { session, view, isMoving, isListWanted, isOutdated, pulse, isCluster } = look;
  const { version = "" } = view ?? {};
  const isServerKnown = !isListWanted && !isOutdated && pulse.server === session.serverFound;
  const text = (flag: boolean) => (flag ? "1" : "0");
  return [
    ...[session.epoch || "0", String(session.operationsSeen), text(isMoving)],
    ...[session.serverFound, version],
    ...[text(isListWanted), text(isOutdated), text(isServerKnown), text(isCluster)],
  ];
}
