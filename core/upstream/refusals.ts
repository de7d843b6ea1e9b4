/**
 * Whose trouble a refusal is. It decides what is tried next, what rests, and what is logged as an error.
 *
 * - `caller`: the request. The client gets the refusal; nothing else is tried, and nothing rests.
 * - `limit`: too many calls of this key. The key rests for this model, for as long as the provider says.
 * - `key`: the provider does not accept the key. It rests until a probe succeeds.
 * - `access`: the key has no right to this model. It rests for this model, until a probe succeeds.
 * - `account`: the credit, plan, region or standing of the account behind the key. The key rests.
 * - `model`: the provider does not know the model's name. The model rests there, until a probe succeeds.
 * - `upstream`: the provider is overloaded or fails. Its breaker counts it.
 */
export type Fault = "caller" | "limit" | "key" | "access" | "account" | "model" | "upstream";

/** A refusal that providers are known to send. All that a row states must match; the first row that matches counts. */
export interface KnownRefusal {
  /** Its name in the log: the provider, and what is wrong. */
  readonly row: string;
  /** The HTTP statuses with which it comes; without any, all. An error in a reply with status 200 may have any of them. */
  readonly status?: readonly number[];
  /** `error.type`, `error.status` (Google) or `__type` (Amazon). */
  readonly type?: string;
  /** `error.code`, a `reason` in its details, or `base_resp.status_code` (MiniMax). */
  readonly code?: string;
  /**
   * Words of the message. Without a code they match its beginning, if they can: the rest of it may quote the customer's
   * request.
   */
  readonly words?: RegExp;
  readonly fault: Fault;
  /** The gateway's own words for the client, instead of a text that names the account. */
  readonly says?: string;
  /** A public report or page that quotes it. */
  readonly source: string;
}

const FILTERED = "The model's provider refuses this request because of its usage guidelines.";

/**
 * Refusals whose status alone does not say whose trouble they are. They are few, and they differ, so each is matched
 * whichever provider an upstream is: resellers pass them on.
 */
export const REFUSALS: readonly KnownRefusal[] = [
  {
    row: "anthropic/credit",
    status: [400],
    type: "invalid_request_error",
    words: /^your credit balance is too low/i,
    fault: "account",
    source: "github.com/anthropics/claude-code/issues/66314",
  },
  {
    row: "anthropic/spend limit",
    status: [400],
    type: "invalid_request_error",
    words: /^you have reached your specified (?:api|workspace api) usage limits/i,
    fault: "account",
    source: "developersdigest.tech/errors: 400 invalid_request_error (spend limit reached)",
  },
  {
    row: "anthropic/organization disabled",
    status: [400, 403],
    words: /^this organization has been disabled/i,
    fault: "account",
    source: "github.com/anthropics/claude-code/issues/9384",
  },
  {
    row: "anthropic/billing",
    type: "billing_error",
    fault: "account",
    source: "platform.claude.com/docs/en/api/errors",
  },
  {
    row: "anthropic/overloaded",
    type: "overloaded_error",
    fault: "upstream",
    source: "docs.claude.com/en/api/errors",
  },
  {
    row: "openai/quota",
    code: "insufficient_quota",
    fault: "account",
    source: "github.com/openai/openai-cookbook/issues/844",
  },
  {
    row: "openai/quota",
    type: "insufficient_quota",
    fault: "account",
    source: "github.com/langchain-ai/langchain-academy/issues/150",
  },
  {
    row: "openai/billing not active",
    code: "billing_not_active",
    fault: "account",
    source: "github.com/lifan0127/ai-research-assistant/issues/174",
  },
  {
    row: "openai/billing limit",
    code: "billing_hard_limit_reached",
    fault: "account",
    source: "github.com/bajrangCoder/acode-plugin-chatgpt/issues/19",
  },
  {
    row: "openai/billing limit",
    status: [400, 429],
    words: /^billing hard limit has been reached/i,
    fault: "account",
    source: "github.com/bajrangCoder/acode-plugin-chatgpt/issues/19",
  },
  {
    row: "openai/account deactivated",
    code: "account_deactivated",
    fault: "account",
    source: "platform.openai.com/docs/guides/error-codes",
  },
  {
    row: "openai/region",
    code: "unsupported_country_region_territory",
    fault: "account",
    source: "github.com/home-assistant/core/issues/120072",
  },
  {
    row: "openai/organization not verified",
    status: [400, 403, 404],
    words: /^your organization must be verified/i,
    fault: "access",
    source: "github.com/openai/codex/issues/486",
  },
  {
    row: "openai/key",
    code: "invalid_api_key",
    fault: "key",
    source: "platform.openai.com/docs/guides/error-codes",
  },
  {
    row: "openai/model",
    code: "model_not_found",
    fault: "model",
    source: "platform.openai.com/docs/guides/error-codes",
  },
  {
    row: "openai/request beyond the limit",
    status: [429],
    words: /^request too large for /i,
    fault: "caller",
    says: "The request is larger than the model's provider takes in one call at the moment: send less at a time.",
    source:
      "community.openai.com: Request too large for gpt-4o in organization … on tokens per min (TPM)",
  },
  {
    row: "google/key",
    code: "API_KEY_INVALID",
    fault: "key",
    source: "ai.google.dev/gemini-api/docs/troubleshooting",
  },
  {
    row: "google/key",
    status: [400],
    words: /^api key (?:not valid|not found|expired)/i,
    fault: "key",
    source: "ai.google.dev/gemini-api/docs/troubleshooting",
  },
  {
    row: "google/region",
    status: [400],
    words: /^user location is not supported/i,
    fault: "account",
    source: "github.com/google-gemini/gemini-cli/issues/24641",
  },
  {
    row: "google/billing",
    status: [400, 403],
    type: "FAILED_PRECONDITION",
    words: /billing|free tier/i,
    fault: "account",
    source: "ai.google.dev/gemini-api/docs/troubleshooting",
  },
  {
    row: "xai/credit",
    words:
      /^your (?:newly created )?teams? (?:[\w-]+ )?(?:has either used all|doesn't have any credits)/i,
    fault: "account",
    source: "github.com/continuedev/continue/issues/10373 and 12670",
  },
  {
    row: "xai/credit",
    words: /^you have run out of credits/i,
    fault: "account",
    source: "github.com/Wei-Shaw/sub2api/issues/4069",
  },
  {
    row: "xai/guidelines",
    status: [403],
    words: /^content violates usage guidelines/i,
    fault: "caller",
    says: FILTERED,
    source: "github.com/UKGovernmentBEIS/inspect_ai/pull/2267",
  },
  {
    row: "xai/key",
    status: [400],
    words: /^incorrect api key provided/i,
    fault: "key",
    source: "github.com/microsoft/vscode-copilot-release/issues/10940",
  },
  {
    row: "deepseek/balance",
    words: /^insufficient balance$/i,
    fault: "account",
    source: "github.com/1Panel-dev/MaxKB/issues/3797",
  },
  {
    row: "moonshot/balance",
    type: "exceeded_current_quota_error",
    fault: "account",
    source: "github.com/MoonshotAI/kimi-code/pull/1857",
  },
  {
    row: "moonshot/overloaded",
    type: "engine_overloaded_error",
    fault: "upstream",
    source: "platform.moonshot.ai/docs/api/errors",
  },
  ...minimax(["1008"], "balance", "account"),
  ...minimax(["1004", "2049"], "key", "key"),
  ...minimax(["1002", "1041", "2056"], "limit", "limit"),
  ...minimax(["1000", "1001", "1013", "1024", "1033"], "fails", "upstream"),
  ...zai([400, 401], ["1000", "1001", "1002", "1003", "1004"], "key", "key"),
  ...zai(
    [400, 401, 403, 429],
    ["1110", "1111", "1112", "1113", "1121", "1309"],
    "account",
    "account",
  ),
  ...zai([400, 403, 429], ["1220", "1311"], "access", "access"),
  ...zai([400, 404], ["1211", "1221", "1222"], "model", "model"),
  ...zai([429], ["1302", "1303", "1304", "1305", "1308", "1310", "1313"], "limit", "limit"),
  ...zai([400, 429], ["1120", "1230", "1234", "1312"], "fails", "upstream"),
  {
    row: "alibaba/arrears",
    code: "Arrearage",
    fault: "account",
    source: "github.com/tencentmusic/supersonic/issues/1572",
  },
  {
    row: "alibaba/free quota",
    code: "AllocationQuota.FreeTierOnly",
    fault: "account",
    source: "help.aliyun.com/en/model-studio/error-code",
  },
  {
    row: "alibaba/key",
    code: "InvalidApiKey",
    fault: "key",
    source: "help.aliyun.com/en/model-studio/error-code-start",
  },
  {
    row: "alibaba/access",
    code: "Model.AccessDenied",
    fault: "access",
    source: "help.aliyun.com/en/model-studio/error-code",
  },
  {
    row: "alibaba/model",
    code: "ModelNotFound",
    fault: "model",
    source: "help.aliyun.com/en/model-studio/error-code-start",
  },
  {
    row: "alibaba/limit",
    status: [400, 403, 429],
    code: "Throttling.RateQuota",
    fault: "limit",
    source: "help.aliyun.com/en/model-studio/error-code-start",
  },
  {
    row: "minimax/balance",
    words: /^insufficient balance(?: \(1008\))?$/i,
    fault: "account",
    source: "github.com/MiniMax-AI/MiniMax-M2/issues/62, a 500",
  },
  {
    row: "mistral/capacity",
    words: /^service tier capacity exceeded/i,
    fault: "limit",
    source: "github.com/continuedev/continue/issues/6185",
  },
  {
    row: "mistral/model",
    status: [400],
    words: /^invalid model: /i,
    fault: "model",
    source: "docs.mistral.ai/resources/known-limitations",
  },
  {
    row: "bedrock/payment",
    status: [400, 403],
    words: /^model access is denied due to INVALID_PAYMENT_INSTRUMENT/i,
    fault: "account",
    source: "github.com/Tracer-Cloud/opensre/pull/1811",
  },
  {
    row: "bedrock/access",
    status: [400, 403],
    words: /^(?:you don't have access to the model|model access is denied)/i,
    fault: "access",
    source: "github.com/langgenius/dify/issues/2829",
  },
  {
    row: "bedrock/region",
    status: [400, 403],
    words: /^access to anthropic models is not allowed from unsupported/i,
    fault: "account",
    source: "github.com/aws-samples/generative-bi-using-rag/issues/361",
  },
  {
    row: "bedrock/model",
    status: [400, 404],
    words:
      /^(?:the provided model identifier is invalid|invocation of model id |access denied\. this model is marked by provider as legacy|this model version has reached the end of its life)/i,
    fault: "model",
    source:
      "github.com/strands-agents/harness-sdk/issues/38, github.com/aws-samples/amazon-bedrock-workshop/issues/386",
  },
  {
    row: "bedrock/quota",
    status: [400],
    words: /^(?:your request exceeds|you have exceeded) the service quota/i,
    fault: "limit",
    source: "docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html",
  },
  {
    row: "bedrock/limit",
    type: "ThrottlingException",
    fault: "limit",
    source: "docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html",
  },
  // Statuses of 403 and 404 that are the caller's own.
  {
    row: "any/not found",
    status: [400, 404],
    words:
      /^(?:no such file|file (?:id )?\S+ not found|previous response |item with id |container |conversation |no response found|vector store)/i,
    fault: "caller",
    source: "platform.openai.com/docs/api-reference/responses",
  },
  {
    row: "openrouter/moderation",
    status: [403],
    words: /requires moderation|was flagged/i,
    fault: "caller",
    says: FILTERED,
    source: "openrouter.ai/docs/api-reference/errors",
  },
];

function zai(
  status: readonly number[],
  codes: readonly string[],
  what: string,
  fault: Fault,
): KnownRefusal[] {
  const source = "docs.z.ai/api-reference/api-code";
  const byCode = codes.map((code) => ({ row: `zai/${what}`, status, code, fault, source }));
  // Its endpoint for Messages sends the code as the type (github.com/anthropics/claude-code/issues/9201).
  const byType = codes.map((type) => ({ row: `zai/${what}`, status, type, fault, source }));
  return [...byCode, ...byType];
}

/** The codes of `base_resp`, which comes with status 200. */
function minimax(codes: readonly string[], what: string, fault: Fault): KnownRefusal[] {
  const source = "platform.minimax.io/docs/api-reference/errorcode";
  return codes.map((code) => ({ row: `minimax/${what}`, status: [200], code, fault, source }));
}
