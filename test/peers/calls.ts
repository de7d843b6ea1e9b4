/** Public reports about calls, providers and money, and the test of each: its file, and words of its name. */
export const CALL_REPORTS: readonly (readonly [reports: string, file: string, name: string])[] = [
  [
    "theopenco/llmgateway#3297, anthropics/claude-code#82991",
    "trouble/faults.ts",
    "Anthropic: credit",
  ],
  ["livekit/agents#6171", "trouble/faults.ts", "a stream that is silent after its first events"],
  [
    "BerriAI/litellm#40404, Portkey-AI/gateway#1797",
    "e2e/upstream.test.ts",
    "an upstream that falls silent in the middle of a stream",
  ],
  ["mnfst/llm-gateway#2709, mnfst/llm-gateway#1656", "trouble/faults.ts", "200, an empty stream"],
  ["ENTERPILOT/GoModel#1015", "trouble/faults.ts", "200, an error of the account"],
  [
    "decolua/9router#2429, saivedant169/AegisFlow#20",
    "trouble/trouble.test.ts",
    "costs no call that another key or route can serve",
  ],
  ["maximhq/bifrost#3261", "trouble/faults.ts", "Anthropic: permission"],
  [
    "BerriAI/litellm#3617, BerriAI/litellm#40130, iOfficeAI/AionUi#2782",
    "core/upstream/key-pool.test.ts",
    "rest one by one: a limit for its model, a refused key for all",
  ],
  [
    "QuantumNous/new-api#4429",
    "e2e/kill.test.ts",
    "a gateway that is killed repeatedly while it serves",
  ],
  [
    "Routstr/routstr-core#291, QuantumNous/new-api#4464",
    "e2e/usage/linger.test.ts",
    "pays a reported input, and what was delivered, if no report comes in time",
  ],
  ["Wei-Shaw/sub2api#7002", "e2e/price-factors.test.ts", "or finishes if the config says so"],
  [
    "Wei-Shaw/sub2api#2168, theopenco/llmgateway#3331",
    "e2e/usage/delivery.test.ts",
    "what a client has read when it leaves",
  ],
  [
    "theopenco/llmgateway#3505",
    "e2e/upstream.test.ts",
    "ends with an error event if it is streamed, and is charged for what was delivered",
  ],
  ["QuantumNous/new-api#5288", "e2e/usage/no-reply.test.ts", "what is no reply"],
  ["can1357/oh-my-pi#9569", "e2e/wallet.test.ts", "lowers max_tokens upstream to what it affords"],
  ["RooCodeInc/Roo-Code#12006", "e2e/wallet.test.ts", "is served again right after a top-up"],
  [
    "Wei-Shaw/sub2api#6766",
    "e2e/limits.test.ts",
    "concurrent calls: one more gets 429, and one that has ended makes room",
  ],
  [
    "BerriAI/litellm#35273, redis/ioredis#1604",
    "chaos/outage-redis.test.ts",
    "two gateways whose Redis is down",
  ],
  [
    "nodejs/undici#5845",
    "core/upstream/connections.test.ts",
    "a stream that is aborted leaves no connection behind",
  ],
  [
    "openai/openai-node#2317, agentscope-ai/agentscope-java#2073",
    "core/upstream/connections.test.ts",
    "a stream that is held open after its end leaves its connection to the next",
  ],
  [
    "kgateway-dev/kgateway#14558",
    "core/upstream/connections.test.ts",
    "a connection is closed after its greatest age",
  ],
  [
    "agentgateway/agentgateway#1084, Portkey-AI/gateway#1007",
    "core/upstream/connections.test.ts",
    "an upstream is reached through a proxy",
  ],
  [
    "looplj/axonhub#2146, QuantumNous/new-api#5798, langwatch/langwatch#5963",
    "e2e/heartbeats.test.ts",
    "gets signs of life between whole events",
  ],
  [
    "QuantumNous/new-api#4700",
    "plugins/topup/crashes.test.ts",
    "one transfer notified twenty times at once, to both, is credited once",
  ],
  [
    "QuantumNous/new-api#4279",
    "plugins/topup/webhook.test.ts",
    "refuses forged notifications, and stores nothing of them",
  ],
  [
    "QuantumNous/new-api#7356",
    "plugins/dashboard/export.test.ts",
    "holds no formula, whatever the name of a key or model",
  ],
  ["Wei-Shaw/sub2api#6610", "plugins/accounts/sign-in.test.ts", "limit password guesses"],
  [
    "BerriAI/litellm#27780, ding113/claude-code-hub#1135",
    "plugins/dashboard/usage.test.ts",
    "has days from midnight to midnight in Vietnam, and includes the last one",
  ],
];
