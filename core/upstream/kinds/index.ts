import { httpJson } from "./http-json.ts";
import type { UpstreamKind } from "./kind.ts";

/** Every kind of upstream that a config can name. The first one is the default. */
export const upstreamKinds: UpstreamKinds = [httpJson];

export type UpstreamKinds = readonly [UpstreamKind, ...UpstreamKind[]];
