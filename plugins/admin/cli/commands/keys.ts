import { accountPath, type Command, encoded, given, numeric, value } from "../command.ts";

export const keyCommands: readonly Command[] = [
  {
    words: "key create",
    required: ["account", "name"],
    optional: [],
    about: "create an API key; shown only once",
    run: async (client, { account, name }) =>
      value(await client.post(`${accountPath(account)}/keys`, { name })),
  },
  {
    words: "key list",
    required: ["account"],
    optional: [],
    about: "list the keys of an account, without their secrets",
    run: async (client, { account }) => value(await client.get(`${accountPath(account)}/keys`)),
  },
  {
    words: "key revoke",
    required: ["key"],
    optional: [],
    about: "revoke a key by its id",
    run: async (client, { key }) => value(await client.post(`/keys/${encoded(key)}/revoke`, {})),
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
