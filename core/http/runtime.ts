import type { LongBodies } from "../body/read-body.ts";
import type { BodyBudget } from "../body/receive.ts";
import type { Limits } from "../plugin/config.ts";
import type { Field } from "../plugin/plugin.ts";
import type { Router } from "../plugin/router.ts";
import type { TrustedProxies } from "../process/client-address.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import type { ConnectedUpstreams } from "../upstream/upstreams.ts";
import type { Cors } from "./cors.ts";
import type { Pipeline } from "./pipeline.ts";
import type { UnreadReplies } from "./unread-replies.ts";

/**
 * The routes, plugins and limits that one generation of the config serves calls with. A reload
 * creates a new generation; calls in flight keep theirs.
 */
export interface Runtime {
  readonly pipeline: Pipeline;
  readonly router: Router;
  /** The routes that `admin.listen` serves; undefined without it. */
  readonly operatorRouter: Router | undefined;
  readonly upstreams: ConnectedUpstreams;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Limits;
  readonly proxies: TrustedProxies;
  readonly cors: Cors;
  /** Shared by all generations, since bodies of an old one still arrive. */
  readonly bodies: BodyBudget;
  /** Shared as well. */
  readonly unread: UnreadReplies;
  /** Shared as well. Without it, all bodies are read on the main thread. */
  readonly longBodies?: LongBodies;
  /** Fields of a call that must be set before it goes upstream. */
  readonly required: readonly Field[];
}
