import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { createCustomer } from "../support/admin.ts";
import { TEST_PRICE_VND_PER_MTOK, testModel } from "../support/catalogue.ts";
import { startGateway } from "../support/gateway.ts";
import { assertReconciled, noCallsInFlight, spent } from "../support/proof.ts";
import { paths, post } from "../support/requests.ts";
import { CASES, type Case, SECRETS } from "./faults.ts";
import type { TroubleProtocol } from "./good-replies.ts";
import { GOOD_KEY, startTroubleProvider, type TroubleProvider } from "./provider.ts";
import { tableOf } from "./table.ts";

const PROTOCOLS: readonly TroubleProtocol[] = ["messages", "chat", "responses"];
/** Beside the upstream that makes trouble stands one of these. */
const BESIDE = ["nothing", "a second route", "a second key"] as const;
const CREDIT_VND = 1_000_000;
/** 30 tokens of input and 10 of output. */
const COST_MICRO_VND = 40n * BigInt(TEST_PRICE_VND_PER_MTOK);
/** Calls at the same time. */
const AT_ONCE = 150;
/** Troubles of an address, which another key there meets too. */
const OF_THE_ADDRESS = new Set<unknown>(["no listener", "no such host", "wrong certificate"]);

/** One call: a case, the protocol of client and provider, and what stands beside it. */
interface Cell {
  readonly id: string;
  readonly at: number;
  readonly given: Case;
  readonly protocol: TroubleProtocol;
  readonly stream: boolean;
  readonly beside: (typeof BESIDE)[number];
}

const CELLS: readonly Cell[] = CASES.flatMap((given, at) =>
  PROTOCOLS.flatMap((protocol) =>
    BESIDE.flatMap((beside, place) =>
      [true, false]
        .filter((stream) => given.only !== (stream ? "whole" : "streamed"))
        .map((stream) => {
          const id = `t${at}-${protocol}-${place}-${stream ? "streamed" : "whole"}`;
          return { id, at, given, protocol, stream, beside };
        }),
    ),
  ),
);

function upstreamsOf(provider: TroubleProvider): Record<string, object> {
  const all: Record<string, object> = {};
  for (const protocol of PROTOCOLS) {
    const address = provider.addressOf(CASES.length, protocol);
    all[`good-${protocol}`] = { protocols: { [protocol]: address }, keys: [GOOD_KEY] };
  }
  for (const { id, at, given, protocol, beside } of CELLS) {
    // The wait is short only if silence is the trouble: else a busy machine would look like it.
    const isSilent = given.cause.test("silent");
    all[id] = {
      protocols: { [protocol]: provider.addressOf(at, protocol) },
      keys: ["a-key", ...(beside === "a second key" ? ["another-key"] : [])],
      ...(isSilent && { first_byte_seconds: 1, reply_seconds: 1 }),
    };
  }
  return all;
}

function catalogueOf(): object {
  const models = CELLS.map(({ id, protocol, beside }) => {
    const second = { upstream: `good-${protocol}`, model: "m", priority: 1 };
    const routes = [{ upstream: id, model: "m" }, ...(beside === "a second route" ? [second] : [])];
    return testModel(id, routes, { standard: protocol === "messages" ? "messages" : "chat" });
  });
  return { models };
}

function bodyOf({ id, protocol, stream }: Cell): object {
  const text = `hello of ${id}`;
  const turns = [{ role: "user", content: text }];
  switch (protocol) {
    case "messages":
      return { model: id, stream, max_tokens: 100, messages: turns };
    case "chat":
      return { model: id, stream, max_completion_tokens: 100, messages: turns };
    case "responses":
      return { model: id, stream, max_output_tokens: 100, input: text };
  }
}

/** Returns true if something beside the trouble can serve the call. */
function isServed({ given, beside }: Cell): boolean {
  if (given.isCallers || beside === "nothing") return false;
  return beside === "a second route" || !(given.isOfProvider || OF_THE_ADDRESS.has(given.fault));
}

t.setTimeout(300_000);

t.test("trouble at a provider", { timeout: 300_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const results = new Map<string, { status: number; text: string }>();

  const provider = await startTroubleProvider(folder);
  t.teardown(() => provider.stop());
  const catalogue = join(folder, "catalogue.yaml");
  writeFileSync(catalogue, JSON.stringify(catalogueOf()));
  const gateway = await startGateway({
    config: {
      catalogue,
      upstreams: upstreamsOf(provider),
      limits: { first_byte_seconds: 12, idle_seconds: 12, call_seconds: 30, connect_seconds: 5 },
    },
    plugins: {
      alias: { default_family: "any", families: { any: CELLS[0]?.id ?? "" } },
      settle: { when_client_leaves: "cancel" },
    },
  });
  t.teardown(() => gateway.close());
  const customer = await createCustomer(gateway, { creditVnd: CREDIT_VND });

  t.test("costs no call that another key or route can serve", { timeout: 200_000 }, async (t) => {
    const waiting = [...CELLS];
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let cell = waiting.pop(); cell; cell = waiting.pop()) {
          const { status, text } = await post(
            gateway,
            paths[cell.protocol],
            customer,
            bodyOf(cell),
          );
          results.set(cell.id, { status, text });
        }
      }),
    );
    for (const cell of CELLS) {
      const { status, text } = results.get(cell.id) ?? { status: 0, text: "" };
      const name = `${cell.given.name}: ${cell.id}`;
      if (isServed(cell)) {
        t.equal(status, 200, `${name}: ${text}`);
        t.match(text, /served/, name);
        t.equal(
          text.match(/event: (?:message_start|response\.created)/g)?.length ?? 0,
          beginnings(cell),
          name,
        );
      } else {
        t.ok(cell.given.alone.includes(status), `${name}: ${status} ${text}`);
        if (status === 200) t.match(text, /The request is refused/, name);
      }
      t.notMatch(text, SECRETS, name);
      if (status === 502) {
        t.notMatch(text, /authentication_error|permission_error|x-api-key/, name);
      }
      if (status !== 200) t.type(JSON.parse(text).error.message, "string", name);
    }
  });

  t.test("is charged once, and lost attempts are not", async (t) => {
    await noCallsInFlight(gateway);
    const served = BigInt(CELLS.filter(isServed).length);
    t.equal(await spent(gateway, customer.accountId, CREDIT_VND), served * COST_MICRO_VND);
    await assertReconciled(gateway);
  });

  t.test("is logged by its cause, and never in the provider's words", async (t) => {
    const causes = new Map<string, string>();
    for (const line of gateway.logs.split("\n")) {
      if (!line.includes('"msg":"call"')) continue;
      const { model, failed_attempts: failed = [] } = JSON.parse(line);
      causes.set(model, failed.map(({ cause }: { cause: string }) => cause)[0] ?? "");
    }
    for (const { id, given } of CELLS) t.match(causes.get(id), given.cause, `${given.name}: ${id}`);
    t.match(gateway.logs, /"level":50,[^\n]*"fault":"key"[^\n]*refuses the gateway's key/);
    t.notMatch(gateway.logs, /balance is too low|Plans & Billing|org-A1b2|16f2151a|renew your/);
  });

  t.test("is listed in the README", async (t) => {
    const file = join(packageRoot, "core", "upstream", "README.md");
    const [begin, end] = ["<!-- trouble -->\n", "<!-- /trouble -->\n"];
    const text = readFileSync(file, "utf8");
    const [before, rest = ""] = text.split(begin);
    const [written, after = ""] = rest.split(end);
    assert.ok(before);
    const statusOf = (id: string) => results.get(id)?.status ?? 0;
    const table = tableOf(CASES, (at, place, how) => {
      const cells = PROTOCOLS.map((protocol) => `t${at}-${protocol}-${place}-${how}`);
      return [...new Set(cells.map(statusOf))].filter((status) => status > 0);
    });
    if (process.env["WRITE_TABLE"]) writeFileSync(file, before + begin + table + end + after);
    else t.equal(written, table, "run this test with WRITE_TABLE=1");
  });
});

/** How many events begin a reply: each once, though another attempt began before. */
function beginnings({ protocol, stream }: Cell): number {
  return stream && protocol !== "chat" ? 1 : 0;
}
