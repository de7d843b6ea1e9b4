/**
 * Whose trouble a refusal is. It decides what is tried next, what rests, and what is logged as an error.
 *
 * - `caller`: the request. The client gets the refusal; nothing rests, and only a row with `elsewhere` has something else tried.
 * - `limit`: too many calls of this key. The key rests for this model, for as long as the provider says.
 * - `key`: the provider does not accept the key. It rests until a probe succeeds.
 * - `access`: the key has no right to this model. It rests for this model, until a probe succeeds.
 * - `account`: the credit, plan, region or standing of the account behind the key. The key rests.
 * - `model`: the provider does not know the model's name. The model rests there, until a probe succeeds.
 * - `upstream`: the provider is overloaded or fails. Its breaker counts it.
 */
export type Fault = "caller" | "limit" | "key" | "access" | "account" | "model" | "upstream";

/** A refusal that providers are known to send. All that a row states must match; the first row that matches counts. */
export interface KnownRefusal extends Signs {
  /** Its name in the log: the provider, and what is wrong. */
  readonly row: string;
  readonly fault: Fault;
  /** A public report or page that quotes it. */
  readonly source: string;
}

interface Signs {
  /** The HTTP statuses with which it comes; without any, all. An error in a reply with status 200 may have any of them. */
  readonly status?: readonly number[];
  /** `error.type`, `error.status` (Google) or `__type` (Amazon). */
  readonly type?: string;
  /** `error.code`, a `reason` (Google) or the `error_code` (Anthropic) in its details, or `base_resp.status_code` (MiniMax). */
  readonly code?: string;
  /**
   * Words of the message. Without a code they match its beginning, if they can: the rest of it may quote the customer's
   * request.
   */
  readonly words?: RegExp;
  /** The gateway's own words for the client, instead of a text that names the account. */
  readonly says?: string;
  /** True if another provider may take the request that this one refuses. */
  readonly elsewhere?: true;
}

function known(row: string, fault: Fault, source: string, signs: Signs): KnownRefusal {
  return { row, fault, source, ...signs };
}

const FILTERED = "The model's provider refuses this request because of its usage guidelines.";

/** Reports and pages that several rows quote, or whose names are long. */
const ANTHROPIC = "platform.claude.com/docs/en/api/errors";
const SPEND_LIMIT = "developersdigest.tech/errors: 400 invalid_request_error (spend limit reached)";
const ANTHROPIC_CAP = "platform.claude.com/docs/en/api/rate-limits";
const OPENAI_QUOTA =
  "github.com/openai/openai-cookbook/issues/844, help.openai.com/en/articles/6614457";
const OPENAI = "platform.openai.com/docs/guides/error-codes";
const OPENAI_CHECKS =
  "developers.openai.com/api/docs/guides/safety-checks/misalignment-monitoring (a 403), github.com/openai/codex/pull/31439";
const ACODE = "github.com/bajrangCoder/acode-plugin-chatgpt/issues/19";
const REQUEST_LIMIT =
  "community.openai.com: Request too large for gpt-4o in organization … on tokens per min (TPM), github.com/HunorLaczko/ha-groq-cloud-api/issues/27";
const GOOGLE = "ai.google.dev/gemini-api/docs/troubleshooting";
const GOOGLE_CREDIT = "github.com/dyad-sh/dyad/issues/3626, ai.google.dev/gemini-api/docs/billing";
const ALIBABA_START = "help.aliyun.com/en/model-studio/error-code-start";
const ALIBABA = "help.aliyun.com/en/model-studio/error-code";
const MINIMAX = "platform.minimax.io/docs/api-reference/errorcode";
const BEDROCK_MODELS =
  "github.com/strands-agents/harness-sdk/issues/38, github.com/aws-samples/amazon-bedrock-workshop/issues/386";
const BEDROCK_ACCOUNTS =
  "github.com/langgenius/dify/issues/7488, github.com/aws-samples/amazon-bedrock-audio-summarizer/issues/3, github.com/theopenco/llmgateway/pull/4012, github.com/obot-platform/obot/issues/6747";
const BEDROCK_API = "docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html";
const BEDROCK_ERRORS =
  "docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html";

/**
 * Refusals whose status alone does not say whose trouble they are. They are few, and they differ, so each is matched
 * whichever provider an upstream is: resellers pass them on.
 */
export const REFUSALS: readonly KnownRefusal[] = [
  known("anthropic/credit", "account", "github.com/anthropics/claude-code/issues/66314", {
    status: [400],
    type: "invalid_request_error",
    words: /^your credit balance is too low/i,
  }),
  known("anthropic/spend limit", "account", SPEND_LIMIT, {
    status: [400],
    type: "invalid_request_error",
    words: /^you have reached your specified (?:api|workspace api) usage limits/i,
  }),
  known("anthropic/spend cap", "account", ANTHROPIC_CAP, { code: "enforced_spend_limit_reached" }),
  known("anthropic/spend cap", "account", ANTHROPIC_CAP, {
    status: [429],
    words:
      /^(?:you have reached your api usage limits|this request would exceed your account's monthly spend limit)/i,
  }),
  known(
    "anthropic/extra usage",
    "account",
    "github.com/anthropics/claude-code/issues/45035, github.com/NousResearch/hermes-agent/issues/31668",
    {
      status: [400],
      words: /^(?:you're out of extra usage|third-party apps now draw from your extra usage)/i,
    },
  ),
  known(
    "anthropic/organization disabled",
    "account",
    "github.com/anthropics/claude-code/issues/9384",
    { status: [400, 403], words: /^this organization has been disabled/i },
  ),
  known("anthropic/billing", "account", ANTHROPIC, { type: "billing_error" }),
  known("anthropic/overloaded", "upstream", "docs.claude.com/en/api/errors", {
    type: "overloaded_error",
  }),
  known("alibaba/free quota", "account", ALIBABA, { code: "AllocationQuota.FreeTierOnly" }),
  // Its limit of tokens per minute has OpenAI's words and names for an empty account.
  known("alibaba/limit", "limit", "github.com/QwenLM/Qwen/issues/2254", {
    status: [429],
    words:
      /^(?:allocated quota exceeded|you exceeded your current quota.{1,200}\/error-code#token-limit)/i,
  }),
  ...[
    "insufficient_quota",
    "credit_balance_exhausted",
    "organization_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
    "project_spend_limit_exceeded",
  ].map((code) => known("openai/quota", "account", OPENAI_QUOTA, { code })),
  known("openai/quota", "account", "github.com/langchain-ai/langchain-academy/issues/150", {
    type: "insufficient_quota",
  }),
  known(
    "openai/billing not active",
    "account",
    "github.com/lifan0127/ai-research-assistant/issues/174",
    { code: "billing_not_active" },
  ),
  known("openai/billing limit", "account", ACODE, { code: "billing_hard_limit_reached" }),
  known("openai/billing limit", "account", ACODE, {
    status: [400, 429],
    words: /^billing hard limit has been reached/i,
  }),
  known("openai/account deactivated", "account", OPENAI, { code: "account_deactivated" }),
  known("openai/region", "account", "github.com/home-assistant/core/issues/120072", {
    code: "unsupported_country_region_territory",
  }),
  known("openai/organization not verified", "access", "github.com/openai/codex/issues/486", {
    status: [400, 403, 404],
    words: /^your organization must be verified/i,
  }),
  ...["cyber_policy", "bio_policy", "misalignment_policy_violation"].map((code) =>
    // Codex knows them by the code, and hits are counted against the organisation: not tried elsewhere.
    known("openai/policy", "caller", OPENAI_CHECKS, { code }),
  ),
  known("openai/key", "key", OPENAI, { code: "invalid_api_key" }),
  known("openai/model", "model", OPENAI, { code: "model_not_found" }),
  // Groq's has status 413. Another key or provider may have a higher limit.
  known("openai/request beyond the limit", "caller", REQUEST_LIMIT, {
    status: [413, 429],
    words: /^request too large for /i,
    elsewhere: true,
    says: "The request is larger than the model's provider takes in one call at the moment: send less at a time.",
  }),
  known("google/key", "key", GOOGLE, { code: "API_KEY_INVALID" }),
  known("google/key", "key", GOOGLE, {
    status: [400],
    words: /^api key (?:not valid|not found|expired)/i,
  }),
  known("google/region", "account", "github.com/google-gemini/gemini-cli/issues/24641", {
    status: [400],
    words: /^user location is not supported/i,
  }),
  known("google/billing", "account", GOOGLE, {
    status: [400, 403],
    type: "FAILED_PRECONDITION",
    words: /billing|free tier/i,
  }),
  known("google/credit", "account", GOOGLE_CREDIT, {
    status: [429],
    words:
      /^your (?:prepayment credits are depleted|project has exceeded its monthly spending cap)/i,
  }),
  known("xai/credit", "account", "github.com/continuedev/continue/issues/10373 and 12670", {
    words:
      /^your (?:newly created )?teams? (?:[\w-]+ )?(?:has either used all|doesn't have any credits)/i,
  }),
  known("xai/credit", "account", "github.com/Wei-Shaw/sub2api/issues/4069", {
    words: /^you have run out of credits/i,
  }),
  known("xai/guidelines", "caller", "github.com/UKGovernmentBEIS/inspect_ai/pull/2267", {
    status: [403],
    words: /^content violates usage guidelines/i,
    says: FILTERED,
  }),
  known("xai/key", "key", "github.com/microsoft/vscode-copilot-release/issues/10940", {
    status: [400],
    words: /^incorrect api key provided/i,
  }),
  known("deepseek/balance", "account", "github.com/1Panel-dev/MaxKB/issues/3797", {
    words: /^insufficient balance$/i,
  }),
  known("deepseek/model", "model", "github.com/langbot-app/LangBot/issues/1643", {
    status: [400],
    words: /^model not exist$/i,
  }),
  known("openrouter/model", "model", "github.com/RightNow-AI/openfang/issues/697", {
    status: [400],
    words: /^\S+ is not a valid model id$/i,
  }),
  known("siliconflow/model", "model", "github.com/ErlichLiu/DeepClaude/issues/111", {
    status: [400],
    code: "20012",
  }),
  known("xai/model", "model", "github.com/definableai/definable.ai/issues/112", {
    status: [400],
    words: /^model not found: /i,
  }),
  known("groq/model", "model", "github.com/atiilla/sqlmap-ai/issues/3", {
    code: "model_decommissioned",
  }),
  known("together/model", "model", "github.com/HeyPuter/puter/issues/3168", {
    code: "model_not_available",
  }),
  known("perplexity/model", "model", "github.com/BerriAI/litellm/issues/908", {
    type: "invalid_model",
  }),
  known("groq/flex capacity", "limit", "console.groq.com/docs/flex-processing", {
    status: [498],
    code: "capacity_exceeded",
  }),
  known("groq/spend limit", "account", "console.groq.com/docs/spend-limits", {
    code: "blocked_api_access",
  }),
  known("groq/organization restricted", "account", "github.com/songquanpeng/one-api/issues/1764", {
    code: "organization_restricted",
  }),
  known("fireworks/suspended", "account", "github.com/FerroxLabs/wayland/issues/545", {
    status: [412],
    words: /^account \S+ is suspended/i,
  }),
  known("moonshot/balance", "account", "github.com/MoonshotAI/kimi-code/pull/1857", {
    type: "exceeded_current_quota_error",
  }),
  known("moonshot/overloaded", "upstream", "platform.moonshot.ai/docs/api/errors", {
    type: "engine_overloaded_error",
  }),
  ...minimax(["1008"], "balance", "account"),
  ...minimax(["1004", "2049"], "key", "key"),
  ...minimax(["1002", "1039", "1041", "2056"], "limit", "limit"),
  ...minimax(["1026", "1027"], "filter", "caller", FILTERED),
  known("minimax/filter", "caller", MINIMAX, {
    words: /^(?:status_code=\d+, )?(?:input|output) new_sensitive/i,
    says: FILTERED,
  }),
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
  known("alibaba/arrears", "account", "github.com/tencentmusic/supersonic/issues/1572", {
    code: "Arrearage",
  }),
  known("alibaba/key", "key", ALIBABA_START, { code: "InvalidApiKey" }),
  known("alibaba/access", "access", ALIBABA, { code: "Model.AccessDenied" }),
  known("alibaba/model", "model", ALIBABA_START, { code: "ModelNotFound" }),
  ...["Throttling.RateQuota", "Throttling.AllocationQuota"].map((code) =>
    known("alibaba/limit", "limit", ALIBABA_START, { status: [400, 403, 429], code }),
  ),
  known("minimax/balance", "account", "github.com/MiniMax-AI/MiniMax-M2/issues/62, a 500", {
    words: /^insufficient balance(?: \(1008\))?$/i,
  }),
  known("mistral/capacity", "limit", "github.com/continuedev/continue/issues/6185", {
    words: /^service tier capacity exceeded/i,
  }),
  known("mistral/model", "model", "docs.mistral.ai/resources/known-limitations", {
    status: [400],
    words: /^invalid model: /i,
  }),
  known("bedrock/payment", "account", "github.com/Tracer-Cloud/opensre/pull/1811", {
    status: [400, 403],
    words: /^model access is denied due to INVALID_PAYMENT_INSTRUMENT/i,
  }),
  known("bedrock/access", "access", "github.com/langgenius/dify/issues/2829", {
    status: [400, 403],
    words: /^(?:you don't have access to the model|model access is denied)/i,
  }),
  known("bedrock/access", "access", BEDROCK_ACCOUNTS, {
    status: [400, 403, 404],
    words:
      /^(?:operation not allowed$|your account is not authorized to |access to anthropic models is not allowed for this account|model use case details have not been submitted)/i,
  }),
  known("bedrock/region", "account", "github.com/aws-samples/generative-bi-using-rag/issues/361", {
    status: [400, 403],
    words: /^access to anthropic models is not allowed from unsupported/i,
  }),
  known("bedrock/model", "model", BEDROCK_MODELS, {
    status: [400, 404],
    words:
      /^(?:the provided model identifier is invalid|invocation of model id |access denied\. this model is marked by provider as legacy|this model version has reached the end of its life)/i,
  }),
  known("bedrock/quota", "limit", BEDROCK_API, {
    status: [400],
    words: /^(?:your request exceeds|you have exceeded) the service quota/i,
  }),
  known("bedrock/limit", "limit", BEDROCK_ERRORS, { type: "ThrottlingException" }),
  known("any/beta", "caller", "github.com/router-for-me/CLIProxyAPI/issues/4750", {
    status: [400],
    words: /^(?:the model returned the following errors: )?invalid beta flag/i,
    elsewhere: true,
  }),
  known("any/beta", "caller", "github.com/anthropics/claude-code/issues/21767", {
    status: [400],
    words: /^unexpected value\(s\) .{1,500} for the `anthropic-beta` header/i,
    elsewhere: true,
  }),
  known("any/unknown field", "caller", "github.com/BerriAI/litellm/issues/31582", {
    status: [400],
    words: /^(?:the model returned the following errors: )?[\w.-]{1,200}: extra inputs are not/i,
    elsewhere: true,
  }),
  // Statuses of 403 and 404 that are the caller's own.
  known("any/not found", "caller", "platform.openai.com/docs/api-reference/responses", {
    status: [400, 404],
    words:
      /^(?:no such file|file (?:id )?\S+ not found|previous response |item with id |container |conversation |no response found|vector store)/i,
  }),
  known("openrouter/moderation", "caller", "openrouter.ai/docs/api-reference/errors", {
    status: [403],
    words: /requires moderation|was flagged/i,
    says: FILTERED,
  }),
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
function minimax(
  codes: readonly string[],
  what: string,
  fault: Fault,
  says?: string,
): KnownRefusal[] {
  const rest = { status: [200], fault, source: MINIMAX, ...(says !== undefined && { says }) };
  return codes.map((code) => ({ row: `minimax/${what}`, code, ...rest }));
}
