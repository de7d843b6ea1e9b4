import type { Protocol, Refusal } from "../../core/contract/index.ts";
import { PROTOCOLS } from "./protocols.ts";

/** The parts of a translated request that do not depend on which thread translated it. */
export class RequestTo {
  readonly protocol: Protocol;
  readonly path: string;
  readonly form: undefined = undefined;
  readonly headers: readonly string[];
  readonly prepare: (() => Promise<Refusal | undefined>) | undefined = undefined;
  outputLimit: number | undefined = undefined;
  wantsUsage = false;

  constructor(to: Protocol, headers: readonly string[]) {
    this.protocol = to;
    this.path = PROTOCOLS[to]?.path ?? "";
    this.headers = headers;
  }
}
