/// <reference types="node" preserve="true" />
/**
 * Everything that a plugin may import, published as `tollgate/plugin`. Anything that is not in this
 * list may change without notice. Start at `Plugin` (plugin.ts) and `Services` (services.ts).
 *
 * Money is whole micro-dong (`MicroVnd`). Times are milliseconds and lengths are bytes, unless the
 * name says otherwise. Headers are flat lists: name, value, name, value.
 */

// A plugin and the life of a call.

export { accountSuspended, isRefusal, type Refusal, refuse } from "../wire/refusal.ts";
export type { Call, EndedCall, Outcome, UpstreamRequest } from "./call.ts";
export type { Fault, Plugin, Sink, Verdict } from "./plugin.ts";
export type { Command } from "./services.ts";
export type { UpstreamKind } from "./upstream-kind.ts";

// The parts of core that plugins use.

export { formParts } from "../body/form.ts";
export { bodyParts, RequestBody } from "../body/request-body.ts";
export { measuresOf } from "../body/thread-work.ts";
export { openListener } from "../listener/index.ts";
export { correctionJson } from "../money/correction-json.ts";
export { ownReferences } from "../money/ledger/corrections.ts";
export { files } from "../wire/file-type.ts";
export type { Config } from "./config.ts";
export { confirmation } from "./confirmation.ts";
export { keyLimits } from "./key-limits.ts";
export { contentTypeOf } from "./plugin.ts";
export type { Services } from "./services.ts";

// Money and usage as values.

export { formatVnd, MICRO_VND_PER_VND, type MicroVnd, parseVnd } from "../catalogue/amount.ts";
export { discountBpsAt } from "../catalogue/discount.ts";
export { countsOf, statedOf } from "../catalogue/price-factors.ts";
export { countedUsage, isBilled, Tariff } from "../money/tariff.ts";
export { fieldsIn, type UsageJson } from "../money/usage-fields.ts";
export { dayOf, endOfDay, startOfDay } from "../process/vietnam-day.ts";
export { explainedCall } from "../usage/explained-call.ts";
export { usageJson } from "../usage/usage-json.ts";

export { meaningOf } from "../wire/finish-reason.ts";
export { providerErrors } from "../wire/provider-error.ts";
export { readUsage } from "../wire/usage/read.ts";
export { Usage } from "../wire/usage/usage.ts";

// Models, and the protocols that clients and upstreams speak.

export { type Model, outputTokensMax } from "../catalogue/catalogue.ts";
export { endpointAt, type Protocol } from "../catalogue/endpoint.ts";

export { EFFORT_LEVELS, mergeProfiles, type Profile } from "../catalogue/profile.ts";
export { ServerEvent } from "../sse/reader.ts";
export { encodeComment, encodeEvent } from "../sse/writer.ts";

export { documentUrlOf, isImage } from "../wire/vision.ts";
export { Delivered } from "../wire/wire.ts";
export { hasRoute, modelNamesBy } from "./model-names.ts";
export { formFields, unchangedRequest } from "./upstream-request.ts";

// A plugin's options: `v` is the schema library, the rest are its building blocks.

export {
  day,
  mapping,
  matching,
  named,
  oneOf,
  rowLimit,
  text,
  url,
  v,
  whole,
} from "../process/options.ts";
export { allowPublic, isLoopback, publicHost } from "./public-host.ts";

// A plugin's own routes.

export {
  addCustomerRoutes,
  addKeyRoutes,
  addOperatorRoutes,
  addPublicRoutes,
  type CustomerRoute,
  done,
  email,
  line,
  type OperatorRoute,
  type PublicRoute,
  readBody,
  reading,
  readQuery,
  statementJson,
  walletJson,
} from "./json-route.ts";
export { roles } from "./operator.ts";
export { httpAddress, reachableAddress } from "./public-host.ts";
export type { Customer, PlainRequest, PlainResponse, Router } from "./router.ts";

// Tools for any process.

export { failpoint } from "../process/failpoint.ts";
export { idTime, isId, newId } from "../process/id.ts";
export {
  arrayOf,
  isObject,
  JSON_MAX,
  type JsonObject,
  objectOf,
  parseJson,
} from "../process/json.ts";
export { excessOf } from "../process/json-scan.ts";
export { PeriodicTask } from "../process/periodic.ts";
export { RawJson } from "../process/raw-json.ts";
export { program } from "../process/root.ts";
export { secretFile, TOKEN_RULE } from "../process/secret-file.ts";
export { ThrottledLog } from "../process/throttled-log.ts";
export { messageOf } from "../process/thrown.ts";
export { TIMED_OUT, withTimeout } from "../process/timeout.ts";
