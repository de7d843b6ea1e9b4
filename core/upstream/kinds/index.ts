import type { UpstreamKind } from "../../plugin/upstream-kind.ts";
import { bedrock } from "./bedrock.ts";
import { httpJson } from "./http-json.ts";

/** The kinds of upstream that come with the gateway; plugins bring others. The first one is the default. */
export const upstreamKinds: UpstreamKinds = [httpJson, bedrock];

export type UpstreamKinds = readonly [UpstreamKind, ...UpstreamKind[]];
