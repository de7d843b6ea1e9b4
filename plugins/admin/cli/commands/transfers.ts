import { type Command, encoded, given, value } from "../command.ts";
import { EXIT, Failure } from "../failure.ts";
import { list } from "../pages.ts";

export const transferCommands: readonly Command[] = [
  {
    words: "transfer list",
    required: [],
    optional: ["state", "limit"],
    about:
      "shows what the bank told of, newest first: all of it, or what is matched, credited, unmatched or ignored",
    run: (client, { state, limit }) =>
      list(client, "/transfers", { state }, limit, (last) => ({
        before: String(last["sequence"]),
      })),
  },
  {
    words: "transfer show",
    required: ["transfer"],
    optional: [],
    about: "shows one transfer with the bank's notification as it came",
    run: async (client, { transfer }) => value(await client.get(`/transfers/${encoded(transfer)}`)),
  },
  {
    words: "transfer assign",
    required: ["transfer", "reason"],
    optional: ["account", "order"],
    about: "credits a transfer that waits to an account, or to the account and order of a code",
    run: async (client, { transfer, account, order, reason }) => {
      if ((account === undefined) === (order === undefined)) {
        throw new Failure(EXIT.usage, "transfer assign needs either --account or --order");
      }
      const assignment = given({ account, order, reason });
      return value(await client.post(`/transfers/${encoded(transfer)}/assign`, assignment));
    },
  },
  {
    words: "transfer ignore",
    required: ["transfer", "reason"],
    optional: [],
    about: "leaves a transfer that waits out of it all, since it is no top-up",
    run: async (client, { transfer, reason }) =>
      value(await client.post(`/transfers/${encoded(transfer)}/ignore`, { reason })),
  },
];
