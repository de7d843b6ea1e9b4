import { type Command, value } from "../command.ts";
import { list } from "../pages.ts";

export const operationCommands: readonly Command[] = [
  {
    words: "upstreams",
    required: [],
    optional: [],
    about: "show the health of upstreams, as one gateway process sees it",
    run: async (client) => value(await client.get("/upstreams")),
  },
  {
    words: "models",
    required: [],
    optional: [],
    about: "list the models with their prices and routes, as one gateway process runs them",
    run: async (client) => value(await client.get("/models")),
  },
  {
    words: "actions",
    required: [],
    optional: ["account", "operator", "language", "limit"],
    options: {
      operator: {
        value: "NAME",
        about: "who did it: an address or a token",
        example: "lan@shop.vn",
      },
      language: { value: "en|vi", about: "of the sentences", example: "vi" },
    },
    about: "list what operators have changed, newest first, each in a sentence",
    run: (client, { account, operator, language, limit }) =>
      list(client, "/actions", { account, operator, language }, limit, (last) => ({
        before: String(last["id"]),
      })),
  },
];
