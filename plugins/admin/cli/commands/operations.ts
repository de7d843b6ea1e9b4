import { type Command, value } from "../command.ts";
import { list } from "../pages.ts";

export const operationCommands: readonly Command[] = [
  {
    words: "upstreams",
    required: [],
    optional: [],
    about: "shows how the upstreams are, as the process that answers sees them",
    run: async (client) => value(await client.get("/upstreams")),
  },
  {
    words: "actions",
    required: [],
    optional: ["account", "limit"],
    about: "shows what operators have changed, newest first",
    run: (client, { account, limit }) =>
      list(client, "/actions", { account }, limit, (last) => ({ before: String(last["id"]) })),
  },
];
