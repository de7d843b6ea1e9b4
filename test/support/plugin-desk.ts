import type { CallerKey } from "../../core/accounts/account.ts";
import { RequestBody } from "../../core/body/request-body.ts";
import {
  Catalogue,
  MEDIA_DEFAULTS,
  type Model,
  type Price,
} from "../../core/catalogue/catalogue.ts";
import { endpoints } from "../../core/catalogue/endpoint.ts";
import { factorsOf, type StatedFactors } from "../../core/catalogue/price-factors.ts";
import type { HttpCall } from "../../core/http/http-call.ts";
import type {
  ExtendRequest,
  ExtendResult,
  HoldRequest,
  Posted,
} from "../../core/money/hold-store.ts";
import type { Posting } from "../../core/money/outbox-entry.ts";
import type { WalletHold, Wallets } from "../../core/money/wallet.ts";
import type { Services } from "../../core/plugin/services.ts";
import { noCustomers } from "../../core/plugin/slot.ts";
import type { JsonObject } from "../../core/process/json.ts";
import { wires } from "../../core/wire/wires.ts";
import { newCall } from "./call.ts";
import { recordedLog } from "./log.ts";

/** Parts for unit tests of plugins: what core offers them, without stores, sockets or processes. */

/** The settings of the plugin `settle` that its unit tests begin with. */
export const SETTLE_SETTINGS = {
  slice_tokens: 1_024,
  when_exhausted: "cut",
  when_client_leaves: "cancel",
  linger_seconds: 2,
  linger_reasoning_seconds: 60,
} as const;

/** A price of `microVnd` for a token, a call or an image, with these factors. */
export function priced(
  unit: Price["unit"],
  microVnd: number,
  stated: StatedFactors | null = null,
): Price {
  return { unit, vnd: microVnd, microVnd, factors: factorsOf(stated) };
}

/** A chat model at 2 µđ a token, and the changes. */
export function modelOf(changes: Partial<Model> = {}): Model {
  return {
    id: "sim-large",
    price: priced("mtok", 2),
    next: undefined,
    channel: "standard",
    contextWindow: 200_000,
    inputTokensMax: undefined,
    maxOutputTokens: 8_000,
    labels: new Set(["streaming", "tools"]),
    standard: "messages",
    routes: [],
    features: {},
    media: MEDIA_DEFAULTS,
    catalogueVersion: "v1",
    ...changes,
  };
}

/** An active key without limits or discounts, and the changes. */
export function keyOf(changes: Partial<CallerKey> = {}): CallerKey {
  return {
    id: "K",
    accountId: "A",
    memberId: null,
    name: "a key",
    hash: "00".repeat(32),
    status: "active",
    requestsPerMinute: null,
    limits: undefined,
    accountStatus: "active",
    discountBps: 0,
    creditVersion: 7,
    discounts: [],
    ...changes,
  };
}

/** Wallets that record every request, and decide as the test says. By default they grant everything. */
export class RecordedWallets implements Partial<Wallets> {
  readonly holds: HoldRequest[] = [];
  readonly extends: ExtendRequest[] = [];
  readonly posts: Posting[] = [];
  readonly latePosts: Posting[] = [];
  readonly voids: string[] = [];
  onHold: (request: HoldRequest) => WalletHold | Promise<WalletHold> = ({ amountMicroVnd }) => ({
    kind: "held",
    amountMicroVnd,
  });
  onExtend: (request: ExtendRequest) => ExtendResult | Promise<ExtendResult> = ({
    totalMicroVnd,
  }) => ({ kind: "held", amountMicroVnd: totalMicroVnd });
  onPost: (posting: Posting) => Posted | Promise<Posted> = ({ costMicroVnd }) => ({
    chargedMicroVnd: costMicroVnd,
    writtenOffMicroVnd: 0,
    duplicate: false,
  });
  onVoid: () => void | Promise<void> = () => {};

  hold(request: HoldRequest): WalletHold | Promise<WalletHold> {
    this.holds.push(request);
    return this.onHold(request);
  }

  extend(request: ExtendRequest): ExtendResult | Promise<ExtendResult> {
    this.extends.push(request);
    return this.onExtend(request);
  }

  post(posting: Posting): Posted | Promise<Posted> {
    this.posts.push(posting);
    return this.onPost(posting);
  }

  postLater(posting: Posting): void {
    this.latePosts.push(posting);
  }

  void(callId: string, accountId: string): void | Promise<void> {
    this.voids.push(`${callId} ${accountId}`);
    return this.onVoid();
  }
}

/** The parts that are filled in by default; a test replaces those that its plugin uses. */
export interface Desk {
  readonly services: Services;
  readonly wallets: RecordedWallets;
  readonly lines: ReturnType<typeof recordedLog>["lines"];
  /** The time of both clocks. */
  nowMs: number;
}

/** Services for a plugin under test. A part that is not there makes the test fail with its name. */
export function deskOf(parts: Partial<Record<keyof Services, unknown>> = {}): Desk {
  const { log, lines } = recordedLog();
  const wallets = new RecordedWallets();
  const desk = { wallets, lines, nowMs: 1_000_000 };
  const services = {
    config: {
      plugins: [],
      headers: { prefix: "x-svc-", corsOrigins: [] },
      images: { privateAddresses: false, nameServers: [] },
      listen: { host: "127.0.0.1", port: 8080 },
    },
    catalogue: new Catalogue([modelOf()]),
    clock: { now: () => desk.nowMs, monotonic: () => desk.nowMs },
    log,
    wallets: { current: wallets },
    wires,
    upstreams: { hidesReasoning: () => false },
    customers: { current: noCustomers },
    ...parts,
  };
  return Object.assign(desk, { services: services as unknown as Services });
}

/** Changes to the usual fields of a prepared call. `body`: the fields of its request. */
export type PreparedChanges = Partial<Omit<HttpCall, "body">> & { readonly body?: JsonObject };

/** A call to an endpoint, by its path, that has passed `auth`, `alias` and `translate`. */
export function preparedCall(
  { body: fields, ...changes }: PreparedChanges = {},
  path = "/v1/messages",
): HttpCall & { upstream: NonNullable<HttpCall["upstream"]> } {
  const call = newCall(endpoints.find((endpoint) => endpoint.path === path));
  const body = RequestBody.of(fields ?? { model: "sim-large", messages: [] });
  const upstream = {
    protocol: call.endpoint.protocol,
    path,
    body,
    form: undefined,
    headers: [],
    bodyFor: undefined,
    prepare: undefined,
    outputLimit: undefined,
    wantsUsage: false,
  };
  return Object.assign(call, { key: keyOf(), model: modelOf(), upstream, body }, changes) as never;
}

/** The reply headers of a call that begin with this, as an object. */
export function replyHeaders({ replyHeaders: list }: HttpCall): Record<string, string> {
  const pairs: [string, string][] = [];
  for (let at = 0; at < list.length; at += 2) pairs.push([list[at] ?? "", list[at + 1] ?? ""]);
  return Object.fromEntries(pairs);
}
