import { accountPath, type Command, encoded, given, numeric, value } from "../command.ts";

export const keyCommands: readonly Command[] = [
  {
    words: "key create",
    required: ["account", "name"],
    optional: [],
    about: "makes an API key, which is shown this once",
    run: async (client, { account, name }) =>
      value(await client.post(`${accountPath(account)}/keys`, { name })),
  },
  {
    words: "key list",
    required: ["account"],
    optional: [],
    about: "shows the keys of an account, without the keys themselves",
    run: async (client, { account }) => value(await client.get(`${accountPath(account)}/keys`)),
  },
  {
    words: "key revoke",
    required: ["key"],
    optional: [],
    about: "refuses the key with this id from now on",
    run: async (client, { key }) => value(await client.post(`/keys/${encoded(key)}/revoke`, {})),
  },
  {
    words: "key limit",
    required: ["key", "requests-per-minute"],
    optional: ["reason"],
    about: "limits a key to so many calls a minute; 0: not at all, default: as the config says",
    run: async (client, { key, "requests-per-minute": perMinute, reason }) => {
      const limit = perMinute === "default" ? null : numeric(perMinute);
      const wanted = { requests_per_minute: limit, ...given({ reason }) };
      return value(await client.post(`/keys/${encoded(key)}/limit`, wanted));
    },
  },
];
