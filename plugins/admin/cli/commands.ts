import { arrayOf, isObject } from "../../../core/json.ts";
import type { Client } from "./client.ts";
import { EXIT } from "./failure.ts";

/** Values of a command's options; those that it requires are there. */
export type Values = Readonly<Record<string, string>>;

/** What a command prints: one JSON value, or a list whose items come page by page. */
export type Output =
  | { readonly kind: "value"; readonly value: unknown; readonly exitCode: number }
  | { readonly kind: "list"; readonly items: AsyncIterable<unknown> };

export interface Command {
  /** What it is called by, `account create`. */
  readonly words: string;
  readonly required: readonly string[];
  readonly optional: readonly string[];
  readonly about: string;
  run(client: Client, values: Values): Promise<Output>;
}

const PAGE = 1000;

/** Everything that `npm run admin --` can do. */
export const commands: readonly Command[] = [
  {
    words: "account create",
    required: ["email"],
    optional: [],
    about: "makes an account",
    run: async (client, { email }) => value(await client.post("/accounts", { email })),
  },
  {
    words: "account list",
    required: [],
    optional: [],
    about: "shows all accounts",
    run: async (client) => value(await client.get("/accounts")),
  },
  {
    words: "key create",
    required: ["account", "name"],
    optional: [],
    about: "makes an API key, which is shown this once",
    run: async (client, { account, name }) =>
      value(await client.post(`${pathOf(account)}/keys`, { name })),
  },
  {
    words: "key revoke",
    required: ["key"],
    optional: [],
    about: "refuses the key with this id from now on",
    run: async (client, { key }) => value(await client.post(`/keys/${encoded(key)}/revoke`, {})),
  },
  {
    words: "credit",
    required: ["account", "amount-vnd", "reference"],
    optional: ["reason"],
    about:
      "adds money to a wallet, once per reference; a negative amount takes it away and needs a reason",
    run: async (client, { account, "amount-vnd": amount, reference, reason }) => {
      const movement = { amount_vnd: amount, reference, ...(reason !== undefined && { reason }) };
      return value(await client.post(`${pathOf(account)}/credits`, movement));
    },
  },
  {
    words: "wallet",
    required: ["account"],
    optional: [],
    about: "shows a balance and its parts",
    run: async (client, { account }) => value(await client.get(`${pathOf(account)}/wallet`)),
  },
  {
    words: "usage",
    required: ["account"],
    optional: ["limit"],
    about: "shows the calls of an account, newest first, all of them or as many as --limit",
    run: async (client, { account, limit }) => usage(client, account, limit),
  },
  {
    words: "reconcile",
    required: [],
    optional: [],
    about: "proves that all books agree; exits 1 and shows the rows where they do not",
    run: async (client) => {
      const report = await client.get("/reconcile");
      const isClean = isObject(report) && report["drift"] === false;
      return { kind: "value", value: report, exitCode: isClean ? EXIT.ok : EXIT.refused };
    },
  },
];

function value(answer: unknown): Output {
  return { kind: "value", value: answer, exitCode: EXIT.ok };
}

/** Fetches the first page before anything is printed, so that a refusal comes alone. */
async function usage(
  client: Client,
  account: string | undefined,
  limit: string | undefined,
): Promise<Output> {
  const path = `${pathOf(account)}/usage`;
  const most = limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  const first = await client.get(path, { limit: String(Math.min(most, PAGE)) });
  return { kind: "list", items: pages(arrayOf(first)) };

  async function* pages(page: readonly unknown[]): AsyncGenerator<unknown> {
    let left = most;
    let now = page;
    for (;;) {
      yield* now;
      left -= now.length;
      const last = now.at(-1);
      if (left <= 0 || now.length < PAGE || !isObject(last)) return;
      const before = `${String(last["at"])},${String(last["call_id"])}`;
      now = arrayOf(await client.get(path, { limit: String(Math.min(left, PAGE)), before }));
    }
  }
}

function pathOf(account: string | undefined): string {
  return `/accounts/${encoded(account)}`;
}

function encoded(id: string | undefined): string {
  return encodeURIComponent(id ?? "");
}
