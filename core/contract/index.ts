/// <reference types="node" preserve="true" />
export type { Clock } from "../process/clock.ts";
export { failpoint } from "../process/failpoint.ts";
export { idTime, isId, newId } from "../process/id.ts";
export {
  arrayOf,
  countOf,
  isObject,
  JSON_LEVELS_MAX,
  type JsonObject,
  objectOf,
  parseJson,
} from "../process/json.ts";
export type { Log } from "../process/log.ts";
export { PeriodicTask } from "../process/periodic.ts";
export { packageRoot } from "../process/root.ts";
export {
  readSecret,
  replaceSecret,
  type SecretKind,
  secretFile,
  USABLE_SECRET,
} from "../process/secret-file.ts";
export { ThrottledLog } from "../process/throttled-log.ts";
export { TIMED_OUT, withTimeout } from "../process/timeout.ts";
export { ServerEvent } from "../sse/reader.ts";
export { encodeComment, encodeEvent } from "../sse/writer.ts";
export {
  type Account,
  type AccountKey,
  type AccountSearch,
  type Accounts,
  type CallerKey,
  KEY_PREFIX,
  type KeySealer,
  type Keys,
  type SealedKey,
  type SealedKeyRecord,
} from "./accounts.ts";
export {
  BASIS_POINTS,
  cost,
  discounted,
  formatVnd,
  MICRO_VND_MAX,
  MICRO_VND_PER_VND,
  type MicroVnd,
  parseVnd,
} from "./amount.ts";
export {
  type Call,
  COMPLETE,
  type EndedCall,
  type FormPart,
  type Held,
  type Outcome,
  REFUSED,
  type UpstreamRequest,
} from "./call.ts";
export type { Catalogue, Model, Route } from "./catalogue.ts";
export type { Command, CommandOption } from "./command.ts";
export type { Config } from "./config.ts";
export type { Customers } from "./customers.ts";
export type { Database, Parameter } from "./database.ts";
export { type Discount, discountBpsAt } from "./discount.ts";
export { type Endpoint, messagesEndpoint, upstreamPaths } from "./endpoint.ts";
export { explainedCall, type FoundCall } from "./found-call.ts";
export type { Customer } from "./guards.ts";
export type {
  CallOutcome,
  ExtendResult,
  LimitBalances,
  LimitSnapshot,
  Posted,
  Posting,
  Short,
} from "./hold-store.ts";
export { WALLET_LIMIT } from "./hold-store.ts";
export { type FetchedImage, type ImageFetcher, imageType } from "./images.ts";
export { type CreditResult, EntryRefused, type Ledger } from "./ledger.ts";
export { type NamedModel, unknownModel } from "./model-names.ts";
export { described, mapping, matching, oneOf, some, text, url, v, whole } from "./options.ts";
export type { AwaitableVerdict, Plugin, Sink, Verdict } from "./plugin.ts";
export {
  type ChatProfile,
  chatProfile,
  clampEffort,
  EFFORT_LEVELS,
  type EffortLevel,
  type MessagesProfile,
  mergeProfiles,
  messagesProfile,
  type Profile,
} from "./profile.ts";
export { Delivered, kindOf, type Protocol, type Wire } from "./protocol.ts";
export type { Rate } from "./rate-limiter.ts";
export { accountSuspended, completeRefusal, isRefusal, type Refusal, refuse } from "./refusal.ts";
export { httpAddress, reachableAddress } from "./routes/address.ts";
export { email, line, readBody, readQuery } from "./routes/json-input.ts";
export {
  addCustomerRoutes,
  addOperatorRoutes,
  addPublicRoutes,
  type CustomerRoute,
  done,
  type OperatorRoute,
  type PublicRoute,
} from "./routes/json-route.ts";
export {
  type PlainRequest,
  type PlainResponse,
  type Router,
  UNREAD_BODY_BYTES_MAX,
} from "./routes/router.ts";
export { walletJson } from "./routes/wallet-json.ts";
export type { CallsInFlight, Services } from "./services.ts";
export {
  affordable,
  type Charge,
  chargeOf,
  countedUsage,
  filledIn,
  priceOf,
  type Tariff,
  tariffOf,
  unitPriceOf,
} from "./tariff.ts";
export { Usage } from "./usage.ts";
export type { KeyUsage, UsageBooks } from "./usage-books.ts";
export {
  fieldsIn,
  type UsageJson,
  type UsageRecord,
  usageColumns,
} from "./usage-fields.ts";
export { usageJson } from "./usage-json.ts";
export type { ReconcileRow, WalletBalances, WalletHold, Wallets } from "./wallets.ts";
