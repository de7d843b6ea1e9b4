import type { Protocol, UpstreamRequest } from "../../core/plugin/index.ts";
import { PROTOCOLS } from "./protocols.ts";

/** The parts of a translated request that do not depend on which thread translated it. */
export class RequestTo {
  readonly protocol: Protocol;
  readonly path: string;
  readonly form: undefined = undefined;
  readonly headers: readonly string[];
  readonly prepare: UpstreamRequest["prepare"] = undefined;
  outputLimit: number | undefined = undefined;
  wantsUsage = false;

  constructor(to: Protocol, headers: readonly string[]) {
    this.protocol = to;
    this.path = PROTOCOLS[to]?.path ?? "";
    this.headers = headers;
  }
}
