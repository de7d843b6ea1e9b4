import { type Command, given, value } from "../command.ts";
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
    words: "maintenance",
    required: [],
    optional: [],
    about: "shows whether calls are taken",
    run: async (client) => value(await client.get("/maintenance")),
  },
  {
    words: "maintenance on",
    required: [],
    optional: ["message", "reason"],
    about: "answers new calls with 503 and this message, in every process; running calls finish",
    run: async (client, { message, reason }) =>
      value(await client.post("/maintenance", { enabled: true, ...given({ message, reason }) })),
  },
  {
    words: "maintenance off",
    required: [],
    optional: ["reason"],
    about: "takes calls again",
    run: async (client, { reason }) =>
      value(await client.post("/maintenance", { enabled: false, ...given({ reason }) })),
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
