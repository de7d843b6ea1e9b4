import t from "tap";
import { isForOperator, refusedBy, refusedInBody } from "../../../core/upstream/fault.ts";
import { REFUSALS } from "../../../core/upstream/refusals.ts";

const bodyOf = (error: object) => JSON.stringify({ error });

const QUOTA = { type: "insufficient_quota", code: "insufficient_quota" };
/** The words of OpenAI for an empty account, and of Alibaba for its limit of tokens per minute. */
const EXCEEDED = "You exceeded your current quota, please check your plan and billing details.";
const TOKEN_LIMIT = "https://help.aliyun.com/zh/model-studio/error-code#token-limit";
/** How Anthropic names the monthly cap of an account's tier, in a 429 like any other. */
const SPEND_CAP = { error_code: "enforced_spend_limit_reached" };
/** OpenAI's. Their type is that of a limit or of an empty account. */
const SPENT = [
  "credit_balance_exhausted",
  "organization_spend_limit_exceeded",
  "project_spend_limit_exceeded",
  "organization_usage_limit_exceeded",
] as const;

t.test("a refusal is whose trouble its row says, in the shape of any provider", async (t) => {
  const table = [
    [
      400,
      { type: "invalid_request_error", message: "Your credit balance is too low to …" },
      "account",
    ],
    [429, { code: "insufficient_quota", message: "x" }, "account"],
    [429, { code: "rate_limit_exceeded", message: "x" }, "limit"],
    [429, { ...QUOTA, message: `${EXCEEDED} For details, see: ${TOKEN_LIMIT}` }, "limit"],
    [429, { ...QUOTA, message: `Allocated quota exceeded. See: ${TOKEN_LIMIT}` }, "limit"],
    [429, { code: "Throttling.AllocationQuota", message: "Allocated quota exceeded" }, "limit"],
    [429, { ...QUOTA, message: `${EXCEEDED} For details, see OpenAI's documents.` }, "account"],
    [403, { code: "AllocationQuota.FreeTierOnly", message: "The free tier …" }, "account"],
    [429, { message: "Request too large for gpt-5 in organization org-1 on tokens" }, "caller"],
    [429, { type: "rate_limit_error", message: "x", details: SPEND_CAP }, "account"],
    [429, { type: "rate_limit_error", message: "x", details: { error_code: "other" } }, "limit"],
    [429, { message: "This request would exceed your account's monthly spend limit." }, "account"],
    [429, { message: "This request would exceed your account's rate limit." }, "limit"],
    [429, { message: "You have reached your API usage limits: your organization …" }, "account"],
    [429, { message: "Your project has exceeded its monthly spending cap." }, "account"],
    ...SPENT.map((code) => [429, { type: "rate_limit_error", code }, "account"] as const),
    [400, { code: "blocked_api_access", message: "x" }, "account"],
    [498, { code: "capacity_exceeded", message: "x" }, "limit"],
    [400, { code: 400, message: "API key not valid.", status: "INVALID_ARGUMENT" }, "key"],
    [429, { code: "1113", message: "x" }, "account"],
    [429, { type: "1113", message: "x" }, "account"],
    [429, { type: "rate_limit_error", code: "1302", message: "x" }, "limit"],
    [
      400,
      { type: "invalid_request_error", message: "messages: credit balance is too low" },
      "caller",
    ],
  ] as const;
  for (const [status, error, fault] of table) {
    t.equal(refusedBy(status, bodyOf(error)).fault, fault, JSON.stringify(error));
  }
  const list = JSON.stringify([{ error: { details: [{ reason: "API_KEY_INVALID" }] } }]);
  t.equal(refusedBy(400, list).row, "google/key");
  const prefixed = "[1113][Insufficient balance or no resource package. Please recharge.][2026]";
  t.ok(isForOperator(refusedBy(429, bodyOf({ message: prefixed }))));
});

t.test(
  "a model that a provider does not know is not the customer's fault, in any provider's words",
  async (t) => {
    const docs = "Permitted models can be found in the documentation at https://docs.example.com.";
    for (const [row, body] of [
      ["deepseek/model", { error: { message: "Model Not Exist", type: "invalid_request_error" } }],
      ["openrouter/model", { error: { message: "x/y-1 is not a valid model ID", code: 400 } }],
      ["siliconflow/model", { code: 20012, message: "Model does not exist.", data: null }],
      [
        "xai/model",
        { code: "Client specified an invalid argument", error: "Model not found: grok-2-latest" },
      ],
      ["groq/model", { error: { message: "The model `x` has …", code: "model_decommissioned" } }],
      [
        "together/model",
        {
          error: {
            message: "Unable to access non-serverless model x.",
            code: "model_not_available",
          },
        },
      ],
      [
        "perplexity/model",
        { error: { message: `Invalid model 'x'. ${docs}`, type: "invalid_model", code: 400 } },
      ],
      ["mistral/model", { object: "error", message: "Invalid model: x", type: "invalid_model" }],
    ] as const) {
      t.match(refusedBy(400, JSON.stringify(body)), { fault: "model", triesOn: true }, row);
    }
    const quoted = bodyOf({ message: "messages.0: the text 'Model Not Exist' is not allowed" });
    t.match(refusedBy(400, quoted), { fault: "caller", triesOn: false });
  },
);

t.test("another provider may take what one refuses of Messages, and nothing rests", async (t) => {
  for (const message of [
    "invalid beta flag",
    "The model returned the following errors: invalid beta flag",
    "Unexpected value(s) `a-2026-01-05` for the `anthropic-beta` header. Please consult our docs.",
    "output_config.format: Extra inputs are not permitted",
    "The model returned the following errors: tools.0.custom.strict: Extra inputs are not permitted",
  ]) {
    const body = bodyOf({ type: "invalid_request_error", message });
    const expected = { fault: "caller", triesOn: true, says: undefined };
    t.match(refusedBy(400, body), expected, message);
    t.notOk(isForOperator(refusedBy(400, body)));
  }
  const quoted = bodyOf({ message: "messages.0: 'a: Extra inputs are not permitted' is wrong" });
  t.match(refusedBy(400, quoted), { fault: "caller", triesOn: false });
});

t.test(
  "a request that is larger than a key's limit goes elsewhere, and its text stays here",
  async (t) => {
    const message =
      "Request too large for model `m` in organization `org_1` on tokens per minute (TPM): Limit 6000, Requested 12328, please reduce your message size. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing";
    for (const status of [413, 429]) {
      const refused = refusedBy(status, bodyOf({ message, code: "rate_limit_exceeded" }));
      t.match(refused, { fault: "caller", triesOn: true, says: /send less at a time/ });
    }
  },
);

t.test("says when to try again, as Google does in the body", async (t) => {
  const details = [
    { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [] },
    { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.0748s" },
  ];
  const error = { code: 429, status: "RESOURCE_EXHAUSTED", message: "x", details };
  t.match(refusedBy(429, JSON.stringify([{ error }])), { fault: "limit", retryAfterMs: 34_075 });
  for (const retryDelay of ["soon", "-1s", "9999999s", 5, undefined]) {
    const other = bodyOf({ details: [{ retryDelay }, "x"] });
    t.equal(refusedBy(429, other).retryAfterMs, undefined, String(retryDelay));
  }
});

t.test("without a row the status decides", async (t) => {
  for (const [fault, statuses] of [
    ["key", [401]],
    ["account", [402]],
    ["access", [403]],
    ["model", [404, 405, 410]],
    ["limit", [429]],
    ["caller", [400, 409, 413, 415, 422, 451]],
    ["upstream", [300, 302, 307, 408, 424, 499, 500, 502, 503, 529]],
  ] as const) {
    for (const status of statuses) {
      for (const text of [undefined, "<html>", "{}", "null", "[]", bodyOf({ message: "no" })]) {
        t.match(refusedBy(status, text), { fault, row: "status", status, means: status });
      }
    }
  }
});

t.test("an error in a successful reply has the status that it states", async (t) => {
  for (const [error, fault, means] of [
    [{ type: "overloaded_error" }, "upstream", 529],
    [{ code: 429, message: "x" }, "limit", 429],
    [{ code: "413", message: "x" }, "caller", 413],
    [{ type: "invalid_request_error", message: "x" }, "caller", 400],
    [{ message: "x" }, "upstream", 502],
  ] as const) {
    t.match(refusedBy(200, bodyOf(error)), { fault, means });
  }
  const base = (status_code: number) => JSON.stringify({ base_resp: { status_code } });
  t.match(refusedInBody(base(1008)), { fault: "account", row: "minimax/balance" });
  t.match(refusedInBody(base(1002)), { fault: "limit" });
  t.match(refusedInBody(base(1039)), { fault: "limit" });
  for (const code of [1026, 1027, 2013]) {
    t.match(refusedInBody(base(code)), { fault: "caller", means: 400, triesOn: false }, `${code}`);
  }
  for (const body of [
    base(0),
    "{}",
    "",
    "[1]",
    '{"type":"message","content":[]}',
    '{"error":null}',
  ]) {
    t.equal(refusedInBody(body), undefined, body);
  }
});

t.test("a request that is refused within a stream is no failure of the provider", async (t) => {
  const codes = [
    ...["bio_policy", "cyber_policy", "misalignment_policy_violation", "invalid_prompt"],
    ...["data_residency_mismatch", "content_filter", "content_policy_violation"],
    ...["invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_url"],
    ...["image_too_large", "image_too_small", "image_parse_error", "invalid_image_mode"],
    ...["image_content_policy_violation", "image_file_too_large", "empty_image_file"],
    ...["unsupported_image_media_type", "failed_to_download_image", "image_file_not_found"],
    // Alibaba's and Z.ai's
    ...["data_inspection_failed", "DataInspectionFailed", "invalid_parameter_error"],
    ...["InvalidParameter", "1210", "1214", "1261", "1301"],
  ];
  const expected = { fault: "caller", means: 400, triesOn: false, isCounted: false };
  for (const code of codes) {
    const error = { code, message: "x" };
    const failed = JSON.stringify({ type: "response.failed", response: { error } });
    for (const body of [failed, bodyOf(error), JSON.stringify({ type: "error", ...error })]) {
      t.match(refusedBy(200, body), { ...expected, says: undefined }, body);
    }
  }
  for (const [error, status = 400] of [
    [{ type: "invalid_request", message: "x" }],
    [{ type: "image_generation_user_error", code: "moderation_blocked", message: "x" }],
    // MiniMax, Moonshot, DeepSeek, Anthropic and Google
    [{ type: "bad_request_error", message: "invalid params (2013)", http_code: "400" }],
    [{ type: "unprocessable_entity_error", message: "x", http_code: "422" }, 422],
    [{ type: "content_filter", code: 400, message: "considered high risk" }],
    [{ type: "invalid_request_error", message: "Content Exists Risk" }],
    [{ type: "invalid_request_error", message: "Output blocked by content filtering policy" }],
    [{ code: 400, status: "INVALID_ARGUMENT", message: "x" }],
  ] as const) {
    t.match(refusedBy(200, bodyOf(error)), { ...expected, means: status }, JSON.stringify(error));
  }
  const flex = bodyOf({ code: "flex_unavailable", message: "x" });
  t.match(refusedBy(200, flex), { fault: "limit", means: 429 });
  t.match(refusedBy(200, bodyOf({ type: "constructor", message: "x" })), { means: 502 });
});

t.test("what OpenAI's checks refuse keeps its text and code, and no key rests", async (t) => {
  for (const code of ["cyber_policy", "bio_policy", "misalignment_policy_violation"]) {
    const text = bodyOf({ code, message: "This content was flagged for possible risk." });
    for (const [status, means] of [
      [200, 400],
      [400, 400],
      [403, 403],
      [502, 400],
    ] as const) {
      const refused = refusedBy(status, text);
      t.match(refused, { fault: "caller", means, row: "openai/policy", says: undefined, code });
      t.notOk(refused.triesOn || refused.isCounted || isForOperator(refused), `${status} ${code}`);
    }
  }
});

t.test("MiniMax refuses content by its words, under any status", async (t) => {
  for (const message of ["input new_sensitive (1026)", "output new_sensitive (1027)"]) {
    for (const [status, means] of [
      [200, 400],
      [422, 422],
      [500, 400],
    ] as const) {
      const refused = refusedBy(status, bodyOf({ type: "api_error", message }));
      t.match(refused, { fault: "caller", means, triesOn: false, row: "minimax/filter" });
    }
  }
});

t.test("no customer reads of an account, and no log has more than names", async (t) => {
  const unknown = refusedBy(
    400,
    bodyOf({ type: "a b\nc", code: "x".repeat(65), message: "Your API key is bad" }),
  );
  t.match(unknown, { type: undefined, code: undefined, row: "words", triesOn: true });
  t.type(unknown.says, "string");
  const own = refusedBy(400, bodyOf({ message: "tools.0.account: must be a string" }));
  t.match(own, { fault: "caller", says: undefined, triesOn: false });
});

t.test("the rows are complete", async (t) => {
  for (const row of REFUSALS) {
    t.ok(row.type ?? row.code ?? row.words, `${row.row} states more than its status`);
    t.match(row.source, /\w+\.\w+/, row.row);
    t.match(row.row, /^[a-z]+\/[a-z ]+$/);
  }
});

t.test("no customer rests a key by words that a provider quotes in its refusal", async (t) => {
  for (const { row, type, code, words, fault } of REFUSALS) {
    if (!words || type !== undefined || code !== undefined) continue;
    if (["account", "key", "limit"].includes(fault)) t.match(words.source, /^\^/, row);
  }
  const quoted = "effort: 'INVALID_PAYMENT_INSTRUMENT' is not one of low, high";
  t.match(refusedBy(400, JSON.stringify({ message: quoted })), { fault: "caller" });
  const message = "Model access is denied due to INVALID_PAYMENT_INSTRUMENT:A valid payment …";
  t.match(refusedBy(403, JSON.stringify({ message })), { row: "bedrock/payment" });
});
