import {
  accountPath,
  type Command,
  encoded,
  given,
  numeric,
  type OptionText,
  type Values,
  value,
} from "../command.ts";

/** Options that limit a key. */
const LIMITS: Readonly<Record<string, OptionText>> = {
  "day-vnd": { value: "AMOUNT", about: "its budget of a day in Vietnam, in đ", example: "20000" },
  "month-vnd": { value: "AMOUNT", about: "its budget of a month, in đ", example: "300000" },
  "total-vnd": { value: "AMOUNT", about: "its budget in all, in đ", example: "1000000" },
  models: {
    value: "IDS",
    about: "the models it is for, with commas between; * stands for any characters",
    example: "'claude-*,gpt-5'",
  },
  addresses: {
    value: "RANGES",
    about: "the addresses it takes calls from, with commas between",
    example: "203.0.113.0/24",
  },
  "ends-at": { value: "DAY|TIME", about: "its last day in Vietnam", example: "2026-12-31" },
  "calls-per-minute": { value: "N", about: "at most as many as key limit allows", example: "60" },
  "calls-at-once": { value: "N", about: "the number of calls in flight", example: "4" },
};
const LISTS: ReadonlySet<string> = new Set(["models", "addresses"]);

/** Returns the given limits as the API takes them. `none` removes one. */
function limitsOf(values: Values): Record<string, unknown> {
  const limits: Record<string, unknown> = {};
  for (const name of Object.keys(LIMITS)) {
    const text = values[name];
    if (text === undefined) continue;
    const limit = LISTS.has(name) ? text.split(",").map((item) => item.trim()) : numeric(text);
    limits[name.replaceAll("-", "_")] = text === "none" ? null : limit;
  }
  return limits;
}

/** The address of a request never has a whole key. */
const shownOf = (query: string) => (query.startsWith("tg-") ? query.slice(0, 10) : query);

export const keyCommands: readonly Command[] = [
  {
    words: "key create",
    required: ["account", "name"],
    optional: Object.keys(LIMITS),
    options: LIMITS,
    about: "create an API key; shown only once",
    run: async (client, { account, name, ...rest }) => {
      const wanted = { name, limits: limitsOf(rest) };
      return value(await client.post(`${accountPath(account)}/keys`, wanted));
    },
  },
  {
    words: "key list",
    required: ["account"],
    optional: [],
    about: "list the keys of an account, with limits and spent budgets, without their secrets",
    run: async (client, { account }) => value(await client.get(`${accountPath(account)}/keys`)),
  },
  {
    words: "key find",
    required: ["query"],
    optional: [],
    options: { query: { value: "KEY|ID", about: "a key, its first characters, or its id" } },
    about: "find a key that has leaked, and whose it is",
    run: async (client, { query = "" }) =>
      value(await client.get("/keys", { query: shownOf(query) })),
  },
  {
    words: "key revoke",
    required: ["key"],
    optional: [],
    about: "revoke a key by its id",
    run: async (client, { key }) => value(await client.post(`/keys/${encoded(key)}/revoke`, {})),
  },
  {
    words: "key restrict",
    required: ["key"],
    optional: [...Object.keys(LIMITS), "reason"],
    options: LIMITS,
    inExample: ["month-vnd", "models"],
    about: "set limits of a key that its owner sees and can change; none removes one",
    run: async (client, { key, reason, ...rest }) => {
      const wanted = { ...limitsOf(rest), ...given({ reason }) };
      return value(await client.post(`/keys/${encoded(key)}/limits`, wanted));
    },
  },
  {
    words: "key pause",
    required: ["key"],
    optional: ["reason"],
    about: "refuse the calls of a key until it is resumed",
    run: async (client, { key, reason }) => {
      const wanted = { paused: true, ...given({ reason }) };
      return value(await client.post(`/keys/${encoded(key)}/limits`, wanted));
    },
  },
  {
    words: "key resume",
    required: ["key"],
    optional: ["reason"],
    about: "take calls of a paused key again",
    run: async (client, { key, reason }) => {
      const wanted = { paused: false, ...given({ reason }) };
      return value(await client.post(`/keys/${encoded(key)}/limits`, wanted));
    },
  },
  {
    words: "key limit",
    required: ["key", "requests-per-minute"],
    optional: ["reason"],
    about: "limit a key to N calls a minute; 0 = unlimited, default = from the config",
    run: async (client, { key, "requests-per-minute": perMinute, reason }) => {
      const limit = perMinute === "default" ? null : numeric(perMinute);
      const wanted = { requests_per_minute: limit, ...given({ reason }) };
      return value(await client.post(`/keys/${encoded(key)}/limit`, wanted));
    },
  },
];
