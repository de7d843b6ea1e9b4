import { lineTriples } from "../support/line-triples.ts";

/** The way in which a provider fails a call: a reply, or trouble with the connection. */
export type Fault =
  /** A whole reply: its status, and its body as JSON or text. */
  | {
      readonly status: number;
      readonly body: unknown;
      readonly type?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** A good reply that goes wrong after some of it: events of a stream, or a part of the bytes. */
  | { readonly after: "nothing" | "preamble" | "half"; readonly ends: "end" | "reset" | "silence" }
  /** A stream whose events are an error after some of it. */
  | { readonly after: "nothing" | "preamble"; readonly error: object }
  | "no reply"
  | "reset"
  | "garbage"
  | "bad gzip"
  | "no listener"
  | "no such host"
  | "wrong certificate";

/** A fault, and the statuses that a client may get if nothing else can serve its call, streamed or not. */
export interface Case {
  readonly name: string;
  readonly fault: Fault;
  readonly alone: readonly number[];
  /** True if the request is at fault, so that no other route is asked. */
  readonly isCallers?: true;
  /** True if the request is at fault there alone, so that no other key is asked. */
  readonly isOfProvider?: true;
  /** The cause under which the failed attempt is counted. */
  readonly cause: RegExp;
  /** Only for calls that are streamed, or only for others. */
  readonly only?: "streamed" | "whole";
}

const anthropic = (status: number, type: string, message: string) => ({
  status,
  body: { type: "error", error: { type, message }, request_id: "req_1" },
});
const openai = (status: number, error: object) => ({ status, body: { error } });
const OVERLOADED = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
const BUSY = [503, 529];

/** Words that no customer may read: each is part of a refusal below. */
export const SECRETS =
  /credit|billing|quota|organi[sz]ation|org-|api key|arrear|good standing|balance|recharge|your plan|your team|your account|location is not supported|spending limit|payment|console\.|marketplace|your organization|usage limits|extra usage|suspended|has been restricted|prepayment|use case details|spending cap|spend limit|usage threshold|dev tier/i;

/**
 * Refusals. Each has three lines: its name, the reply word for word as the provider sends it, perhaps as the event of a
 * streamed call, and its cause. A refusal of the caller's request counts as no failure.
 */
function refusalsOf(table: string): Case[] {
  const lines = table
    .trim()
    .split("\n")
    .map((line) => line.trim());
  return lineTriples(lines).map(([name, reply, cause]) => {
    const status = Number(reply.slice(0, 3));
    const sent = reply.slice(4);
    const isCallers = cause === "caller";
    const isEvent = sent.startsWith("data:");
    const fault = isEvent
      ? { status, body: `${sent}\n\n`, type: "text/event-stream;charset=UTF-8" }
      : { status, body: JSON.parse(sent) };
    const own = [200, 500].includes(status) ? 400 : status;
    return {
      ...{ name, fault, alone: [isCallers ? own : cause === "limit" ? 429 : 502] },
      cause: isCallers ? /^$/ : new RegExp(`^${cause}$`),
      ...(isCallers && { isCallers }),
      ...(isEvent && { only: "streamed" as const }),
    };
  });
}

export const CASES: readonly Case[] = [
  ...refusalsOf(`
Anthropic: credit
  400 {"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."},"request_id":"req_1"}
  account
Anthropic: usage limit
  400 {"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."},"request_id":"req_1"}
  account
Anthropic: monthly cap of the tier
  429 {"type":"error","error":{"type":"rate_limit_error","message":"You have reached your API usage limits: your organization has crossed its monthly API usage threshold, set based on your organization's API tier. You will regain access on 2026-12-01 at 00:00 UTC.","details":{"error_code":"enforced_spend_limit_reached"}},"request_id":"req_1"}
  account
Anthropic: monthly spend limit
  429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your account's monthly spend limit."},"request_id":"req_1"}
  account
Anthropic: extra usage
  400 {"type":"error","error":{"type":"invalid_request_error","message":"You're out of extra usage. Add more at claude.ai/settings/usage and keep going."},"request_id":"req_1"}
  account
Anthropic: organization disabled
  400 {"type":"error","error":{"type":"invalid_request_error","message":"This organization has been disabled."},"request_id":"req_1"}
  account
Anthropic: key
  401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}
  key
Anthropic: billing
  402 {"type":"error","error":{"type":"billing_error","message":"Your account has a billing issue."},"request_id":"req_1"}
  account
Anthropic: permission
  403 {"type":"error","error":{"type":"permission_error","message":"Your API key cannot use this model."},"request_id":"req_1"}
  access
Anthropic: model
  404 {"type":"error","error":{"type":"not_found_error","message":"model: claude-3-opus-20240229"},"request_id":"req_1"}
  model
`),
  {
    name: "Anthropic: limit",
    fault: {
      ...anthropic(
        429,
        "rate_limit_error",
        "This request would exceed your organization's rate limit of 30,000 input tokens per minute.",
      ),
      headers: { "retry-after": "30" },
    },
    alone: [429],
    cause: /^limit$/,
  },
  {
    name: "Anthropic: overloaded",
    fault: { status: 529, body: OVERLOADED },
    alone: BUSY,
    cause: /^http_529$/,
  },
  ...refusalsOf(`
OpenAI: quota
  429 {"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}
  account
OpenAI: billing limit
  400 {"error":{"message":"Billing hard limit has been reached.","type":"image_generation_user_error","code":"billing_hard_limit_reached"}}
  account
OpenAI: spend limit
  429 {"error":{"message":"Your organization has reached its enforced monthly spend limit.","type":"rate_limit_error","param":null,"code":"organization_spend_limit_exceeded"}}
  account
OpenAI: key
  401 {"error":{"message":"Incorrect API key provided: sk-proj-1234.","type":"invalid_request_error","code":"invalid_api_key"}}
  key
OpenAI: region
  403 {"error":{"message":"Country, region, or territory not supported","type":"request_forbidden","code":"unsupported_country_region_territory"}}
  account
OpenAI: model
  404 {"error":{"message":"The model \`m\` does not exist or you do not have access to it.","type":"invalid_request_error","code":"model_not_found"}}
  model
OpenAI: limit
  429 {"error":{"message":"Rate limit reached for gpt-5 in organization org-A1b2C3d4 on tokens per min (TPM).","type":"tokens","code":"rate_limit_exceeded"}}
  limit
Google: key
  400 [{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]
  key
Google: region
  400 {"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}
  account
Google: limit
  429 [{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.074824224s"}]}}]
  limit
Google: prepaid credit
  429 [{"error":{"code":429,"message":"Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your project and billing.","status":"RESOURCE_EXHAUSTED"}}]
  account
Google: cancelled
  499 [{"error":{"code":499,"message":"The operation was cancelled.","errors":[{"message":"The operation was cancelled.","domain":"global","reason":"backendError"}],"status":"CANCELLED"}}]
  http_499
Google: monthly spending cap
  429 [{"error":{"code":429,"message":"Your project has exceeded its monthly spending cap. Please go to AI Studio at https://ai.studio/spend to manage your project spend cap.","status":"RESOURCE_EXHAUSTED"}}]
  account
xAI: credit
  429 {"code":"Some resource has been exhausted","error":"Your team 16f2151a-40f4-4a80-8ad0-cae00c27e8dd has either used all available credits or reached its monthly spending limit."}
  account
DeepSeek: balance
  402 {"error":{"message":"Insufficient Balance","type":"unknown_error"}}
  account
DeepSeek: model
  400 {"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}
  model
OpenRouter: model
  400 {"error":{"message":"a/b-c is not a valid model ID","code":400}}
  model
Groq: organization restricted
  400 {"error":{"message":"Organization has been restricted. Please reach out to support if you believe this was in error.","type":"invalid_request_error","code":"organization_restricted"}}
  account
`),
  {
    name: "Groq: a request beyond the limit",
    fault: openai(413, {
      message:
        "Request too large for model `m` in organization `org_01hw8f` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 12328, please reduce your message size and try again. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing",
      type: "tokens",
      code: "rate_limit_exceeded",
    }),
    alone: [413],
    cause: /^http_413$/,
  },
  ...refusalsOf(`
Groq: flex capacity
  498 {"error":{"message":"Flex tier capacity exceeded","code":"capacity_exceeded"}}
  limit
Fireworks: suspended
  412 {"error":{"message":"Account operator-1a is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices. Please go to https://fireworks.ai/account/billing for more information.","param":null,"code":"PRECONDITION_FAILED","type":"error"}}
  account
Moonshot: balance
  429 {"error":{"message":"Your account org-ea6a80cc <ak-f8tyo15> is suspended due to insufficient balance, please recharge your account","type":"exceeded_current_quota_error"}}
  account
Z.ai: balance
  429 {"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}
  account
Z.ai: concurrency
  429 {"error":{"code":"1302","message":"High concurrency usage of this API"}}
  limit
Alibaba: arrears
  400 {"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing.","type":"Arrearage"}}
  account
Alibaba: arrears, as an event
  400 data: {"error":{"code":"Arrearage","param":null,"message":"Access denied, please make sure your account is in good standing.","type":"Arrearage"}}
  account
Alibaba: tokens a minute
  429 {"error":{"message":"You exceeded your current quota, please check your plan and billing details. For details, see: https://help.aliyun.com/zh/model-studio/error-code#token-limit","type":"insufficient_quota","code":"insufficient_quota"}}
  limit
MiniMax: balance, as a 500
  500 {"type":"error","error":{"type":"api_error","message":"insufficient balance (1008)"},"request_id":"req_1"}
  account
MiniMax: balance, as a 200
  200 {"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}
  account
Mistral: capacity
  429 {"object":"error","message":"Service tier capacity exceeded for this model.","type":"invalid_request_error","code":null}
  limit
Bedrock: access
  403 {"message":"You don't have access to the model with the specified model ID."}
  access
Bedrock: not allowed
  400 {"message":"Operation not allowed"}
  access
Bedrock: account not allowed
  400 {"message":"Access to Anthropic models is not allowed for this account."}
  access
Bedrock: use case
  404 {"message":"Model use case details have not been submitted for this account. Fill out the Anthropic use case details form before using the model. If you have already filled out the form, try again in 15 minutes."}
  access
Bedrock: payment
  403 {"message":"Model access is denied due to INVALID_PAYMENT_INSTRUMENT:A valid payment instrument must be provided."}
  account
`),
  {
    name: "Bedrock: an unknown beta",
    fault: {
      status: 400,
      body: { message: "The model returned the following errors: invalid beta flag" },
    },
    alone: [400],
    isOfProvider: true,
    cause: /^http_400$/,
  },
  {
    name: "an account's trouble that no row knows",
    fault: openai(400, { message: "Dear user, your plan has ended: renew your subscription." }),
    alone: [400],
    cause: /^http_400$/,
  },
  {
    name: "an account that another provider has closed",
    fault: openai(400, { message: "The account a-1 has been suspended for the time being." }),
    alone: [400],
    cause: /^http_400$/,
  },
  // The caller's own.
  ...refusalsOf(`
a bad request
  400 {"error":{"message":"tools.0: no such tool","type":"invalid_request_error"}}
  caller
xAI: guidelines
  403 {"code":"The caller does not have permission to execute the specified operation","error":"Content violates usage guidelines. Your team: 1, API key ID: 2, Failed check: SAFETY_CHECK_TYPE_BIO"}
  caller
OpenAI: a conversation that is stopped
  403 {"error":{"message":"This request was blocked by our safety systems. Reason: Potentially unintended activity.","type":"invalid_request_error","param":null,"code":"misalignment_policy_violation"}}
  caller
Alibaba: content, as an event
  400 data: {"error":{"code":"data_inspection_failed","param":null,"message":"Input text data may contain inappropriate content.","type":"data_inspection_failed"}}
  caller
MiniMax: content, as a 500
  500 {"type":"error","error":{"type":"api_error","message":"input new_sensitive (1026)"},"request_id":"req_1"}
  caller
MiniMax: content, as a 200
  200 {"base_resp":{"status_code":1026,"status_msg":"input sensitive"}}
  caller
`),
  // Failures of the provider.
  { name: "500", fault: openai(500, { message: "internal" }), alone: [502], cause: /^http_500$/ },
  {
    name: "502, a page",
    fault: { status: 502, body: "<html>bad gateway</html>", type: "text/html" },
    alone: [502],
    cause: /^http_502$/,
  },
  { name: "503", fault: openai(503, { message: "busy" }), alone: BUSY, cause: /^http_503$/ },
  { name: "408", fault: openai(408, { message: "slow" }), alone: [502], cause: /^http_408$/ },
  {
    name: "403, a page of a firewall",
    fault: { status: 403, body: "<html>Attention Required</html>", type: "text/html" },
    alone: [502],
    cause: /^access$/,
  },
  {
    name: "405, a page of a firewall",
    fault: { status: 405, body: "<html>blocked</html>", type: "text/html" },
    alone: [502],
    cause: /^model$/,
  },
  {
    name: "406, a page of a firewall",
    fault: { status: 406, body: "<html>Not Acceptable</html>", type: "text/html" },
    alone: [406],
    isOfProvider: true,
    cause: /^http_406$/,
  },
  {
    name: "404, a page",
    fault: { status: 404, body: "<html>Not Found</html>", type: "text/html" },
    alone: [502],
    cause: /^model$/,
  },
  {
    name: "a redirect",
    fault: { status: 302, body: "", headers: { location: "http://127.0.0.1:1/" } },
    alone: [502],
    cause: /^http_302$/,
  },
  { name: "no reply", fault: "no reply", alone: [504], cause: /^silent$/ },
  { name: "a reset", fault: "reset", alone: [502], cause: /^connection$/ },
  { name: "no HTTP", fault: "garbage", alone: [502], cause: /^(?:unreadable|connection)$/ },
  { name: "no listener", fault: "no listener", alone: [502], cause: /^connect$/ },
  { name: "no such host", fault: "no such host", alone: [502], cause: /^dns$/ },
  { name: "a wrong certificate", fault: "wrong certificate", alone: [502], cause: /^tls$/ },
  { name: "a body that is not gzip", fault: "bad gzip", alone: [502], cause: /^unreadable$/ },
  // 200 with nothing of use.
  {
    name: "200, a page",
    fault: { status: 200, body: "<html>welcome</html>", type: "text/html" },
    alone: [502],
    cause: /^unreadable$/,
  },
  {
    name: "200, empty",
    fault: { status: 200, body: "" },
    alone: [502],
    cause: /^empty$/,
  },
  {
    name: "200, {}",
    fault: { status: 200, body: {} },
    alone: [502],
    cause: /^(?:unreadable|cut)$/,
  },
  {
    name: "200, an error of the account",
    fault: { status: 200, body: { error: { code: "insufficient_quota", message: "your quota" } } },
    alone: [502],
    cause: /^account$/,
  },
  {
    name: "200, a failure instead of a reply",
    fault: {
      status: 200,
      body: { choices: [{ index: 0, message: { content: "" }, finish_reason: "network_error" }] },
    },
    alone: [502],
    cause: /^(?:unreadable|cut|empty)$/,
  },
  {
    name: "200, an overload",
    fault: { status: 200, body: OVERLOADED },
    alone: BUSY,
    cause: /^http_200$/,
  },
  {
    name: "200, an empty stream",
    fault: { after: "nothing", ends: "end" },
    alone: [502],
    cause: /^empty$/,
  },
  {
    name: "200, cut after its head",
    fault: { after: "nothing", ends: "reset" },
    alone: [502],
    cause: /^connection$/,
  },
  {
    name: "200, silent after its head",
    fault: { after: "nothing", ends: "silence" },
    alone: [504],
    cause: /^silent$/,
  },
  {
    name: "a stream that ends after its first events",
    fault: { after: "preamble", ends: "end" },
    alone: [502],
    cause: /^cut$/,
    only: "streamed",
  },
  {
    name: "a stream that is cut after its first events",
    fault: { after: "preamble", ends: "reset" },
    alone: [502],
    cause: /^connection$/,
    only: "streamed",
  },
  {
    name: "a stream that is silent after its first events",
    fault: { after: "preamble", ends: "silence" },
    alone: [504],
    cause: /^silent$/,
    only: "streamed",
  },
  {
    name: "a stream whose first event is an overload",
    fault: { after: "nothing", error: OVERLOADED.error },
    alone: BUSY,
    cause: /^http_200$/,
    only: "streamed",
  },
  {
    name: "a stream with an error of the account after its first events",
    fault: {
      after: "preamble",
      error: { type: "billing_error", code: "billing", message: "Your credit balance is too low" },
    },
    alone: [502],
    cause: /^account$/,
    only: "streamed",
  },
  {
    name: "a reply that ends before its length",
    fault: { after: "half", ends: "end" },
    alone: [502],
    cause: /^(?:unreadable|connection)$/,
    only: "whole",
  },
  {
    name: "a reply that is cut in its middle",
    fault: { after: "half", ends: "reset" },
    alone: [502],
    cause: /^connection$/,
    only: "whole",
  },
  {
    name: "a reply that is silent in its middle",
    fault: { after: "half", ends: "silence" },
    alone: [504],
    cause: /^silent$/,
    only: "whole",
  },
  // A stream that refuses the request after its first events: the client gets the event.
  ...["failed_to_download_image", "data_inspection_failed"].map((code) => ({
    name: `a stream that refuses the request by ${code}`,
    fault: { after: "preamble" as const, error: { code, message: "The request is refused." } },
    alone: [200],
    isCallers: true as const,
    cause: /^$/,
    only: "streamed" as const,
  })),
];
