import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { parse } from "yaml";
import { formatVnd, parseVnd } from "../../../core/catalogue/amount.ts";
import { loadConfig } from "../../../core/config/load.ts";
import { type Call, RequestBody, Usage, v } from "../../../core/plugin/index.ts";
import { costOfCall } from "../../../plugins/report/cost-of-call.ts";
import { costsFile } from "../../../plugins/report/costs-file.ts";
import { folderOf, GATEWAY, refused, swap } from "../../core/config/files.ts";
import { admin } from "../../support/admin.ts";
import { billedCalls, customerWith } from "../../support/billed.ts";
import { startGateway } from "../../support/gateway.ts";
import { bodies, paths, post, reload } from "../../support/requests.ts";
import { runCli } from "../admin/cli-runs.ts";

const FILE = `
rates:
  USD: { 2026-01-01: 26000, 2026-07-01: 26350.5 }
costs:
  main:
    big:
      2026-01-01: { input: 5, cached_input: 0.5, cache_write: 6.25, output: 25 }
      2026-06-01: { input: 4, output: 20, per_use: { web_search: 0.01 } }
    picture: { 2026-01-01: { per_image: 0.04 } }
    flat: { 2026-01-01: { currency: VND, per_call: 12.345678 } }
    small: { 2026-01-01: { input: 1, output: 2 } }
`;
const costs = v.parse(costsFile, parse(FILE));

const REPORTED = { inputReported: true, outputReported: true };
const USED = {
  ...REPORTED,
  ...{ inputTokens: 1_000, cacheReadTokens: 600, cacheWriteTokens: 100, outputTokens: 50 },
};

/** Returns what a call costs that `big` has served on a day. */
function costOf(day: string, usage: Partial<Usage> | undefined, more: object = {}): number | null {
  const call = {
    ...{ at: Date.parse(`${day}T00:00:00+07:00`), route: { upstream: "main", model: "big" } },
    ...{ status: 200, outcome: "complete", delivered: true, taken: true, failedAttempts: [] },
    usage: usage && Object.assign(new Usage(), usage),
    ...more,
  };
  return costOfCall(call as unknown as Call, costs);
}

const route = (model: string) => ({ route: { upstream: "main", model } });

t.test("each kind costs the provider's price of the day, in µđ", async (t) => {
  // 300 × 5 + 600 × 0.5 + 100 × 6.25 + 50 × 25 = 3,675 millionths of a dollar
  t.equal(costOf("2026-05-31", USED), 3_675 * 26_000);
  // Cached tokens cost as much as others: 1,000 × 4 + 50 × 20
  t.equal(costOf("2026-06-01", USED), 5_000 * 26_000);
  t.equal(costOf("2026-07-01", USED), 5_000 * 26_350.5);
  const uses = { uses: { web_search: 2 } };
  t.equal(costOf("2026-06-01", { ...USED, ...uses }), (5_000 + 20_000) * 26_000);
  t.equal(costOf("2026-06-01", { ...REPORTED, images: 3 }, route("picture")), 120_000 * 26_000);
  t.equal(costOf("2026-06-01", {}, route("flat")), 12_345_678);
  const pass = { inputTokens: 400, outputTokens: 20, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const passes = [
    { ...pass, model: "small" },
    { ...pass, inputTokens: 0, outputTokens: 0, model: null },
  ];
  // 600 × 4 + 30 × 20 of its own, 400 × 1 + 20 × 2 of the other
  const mixed = { ...REPORTED, inputTokens: 1_000, outputTokens: 50, passes };
  t.equal(costOf("2026-06-01", mixed), (3_000 + 440) * 26_000);
});

t.test("what was refused costs nothing, and what the provider bills is not free", async (t) => {
  t.equal(costOf("2026-06-01", {}, { outcome: "refused", status: 400, delivered: false }), 0);
  const broken = { outcome: "broken", status: 502, delivered: false, taken: false };
  t.equal(costOf("2026-06-01", {}, broken), 0);
  t.equal(costOf("2026-06-01", USED, broken), 5_000 * 26_000, "a reply that no client got");
});

t.test("an unknown cost is null", async (t) => {
  const cases: Record<string, number | null> = {
    "before the first day": costOf("2025-12-31", USED),
    "another model": costOf("2026-06-01", USED, route("other")),
    "another upstream": costOf("2026-06-01", USED, { route: { upstream: "x", model: "big" } }),
    "no usage": costOf("2026-06-01", {}, { inputTokensLikely: undefined }),
    "no images": costOf("2026-06-01", REPORTED, route("picture")),
    "a use": costOf("2026-05-31", { ...USED, uses: { web_search: 1 } }),
    "a lost attempt": costOf(
      "2026-06-01",
      {},
      {
        ...{ outcome: "broken", status: 502, delivered: false, taken: false },
        failedAttempts: [{ lost: true }],
      },
    ),
    "a call with a factor on its price": costOf("2026-06-01", USED, { surcharge: { factor: 2 } }),
    "a call by a tier that OpenAI bills at the rate of batches": costOf("2026-06-01", USED, {
      upstream: { body: RequestBody.of({ service_tier: "flex" }) },
    }),
    "more than can be counted": costOf("2026-06-01", { ...USED, outputTokens: 2 ** 50 }),
  };
  for (const [name, cost] of Object.entries(cases)) t.equal(cost, null, name);
  t.equal(costOf("2026-06-01", USED, { surcharge: { factor: 1 } }), 5_000 * 26_000);
  const plain = { upstream: { body: RequestBody.of({ service_tier: "auto" }) } };
  t.equal(costOf("2026-06-01", USED, plain), 5_000 * 26_000);
});

t.test("a dear image whose tokens are reported costs these", async (t) => {
  const dear = { surcharge: { factor: 4 }, model: { standard: "images" } };
  const made = { ...REPORTED, inputTokens: 1_000, outputTokens: 50, images: 1 };
  t.equal(costOf("2026-06-01", made, dear), 5_000 * 26_000);
  // Nothing was counted, or images are billed one by one, or calls.
  t.equal(costOf("2026-06-01", { images: 1 }, dear), null);
  t.equal(costOf("2026-06-01", made, { ...dear, ...route("picture") }), null);
  t.equal(costOf("2026-06-01", made, { ...dear, ...route("flat") }), null);
});

t.test("a wrong file is refused with its line", async (t) => {
  const own = swap(
    swap(GATEWAY, "token: 0123456789abcdef", ""),
    "./plugin.js",
    "report: { costs: costs.yaml }",
  );
  for (const [costs, expected] of [
    ["costs: { main: { a: { 2026-1-1: { per_call: 1 } } } }", /^costs\.yaml:1 .*expected a day/],
    [
      "costs:\n  main: { a: { 2026-01-01: { input: 1 } } }",
      /^costs\.yaml:2 .*input and output together/,
    ],
    ["costs:\n  main: { a: { 2026-01-01: {} } }", /^costs\.yaml:2 .*per_call or per_image/],
    ["costs:\n  main:\n    a: { 2026-01-01: { per_call: 1 } }", /^costs\.yaml:3 .*a rate of USD/],
    ["costs: {}\nrates: { USD: { 2026-02-30: 26100 } }", /expected a day, such as/],
    [
      "costs: { main: { a: { 2026-02-30: { currency: VND, per_call: 1 } } } }",
      /expected a day, such as/,
    ],
    [
      "costs: { main: { a: { 2026-01-01: { currency: VND, per_call: 0.0000001 } } } }",
      /six decimals/,
    ],
    [
      "costs: { main: { a: { 2026-01-01: { currency: VND, per_call: 1, per_cal: 1 } } } }",
      /unknown key/,
    ],
    ["cost: {}", /^costs\.yaml/],
  ] as const) {
    const [line] = await refused(t, { "gateway.yaml": own, "costs.yaml": costs });
    t.match(line, expected);
  }
  const lines = await refused(t, { "gateway.yaml": own });
  t.match(lines, [/^costs\.yaml: expected a file that can be read \(ENOENT\)/]);
  const folder = await folderOf(t, { "gateway.yaml": own, "costs.yaml": "costs: {}" });
  t.ok((await loadConfig(join(folder, "gateway.yaml"), {})).ok);
});

t.test("a record keeps the cost of its call, and the report has all of them", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const file = join(folder, "costs.yaml");
  const write = (input: number, other: string) => {
    const own = `{ 2020-01-01: { currency: VND, input: ${input}, output: 10 } }`;
    writeFileSync(file, `costs: { anthropic: { claude-opus-5-5: ${own}, ${other}: ${own} } }`);
  };
  write(1, "claude-fable-6");
  const gateway = await startGateway({ plugins: { report: { costs: file } } });
  t.teardown(async () => {
    await gateway.close();
    rmSync(folder, { recursive: true });
  });
  const customer = await customerWith(gateway);
  const call = async (model: string) => {
    const body = bodies.messages({ input_tokens: 1_000, output_tokens: 50 }, { model });
    const reply = await post(gateway, paths.messages, customer, body);
    t.equal(reply.status, 200, reply.text);
  };
  await call("claude-opus-5-5");
  await call("claude-haiku-5-5");
  write(3, "claude-opus-5.5");
  await reload(gateway, { plugins: { report: { costs: file } } });
  t.match(
    gateway.logTail,
    "no route has: anthropic claude-opus-5.5 (did you mean anthropic claude-opus-5-5?)",
  );
  await call("claude-opus-5-5");
  const records = await billedCalls(gateway, customer, 3);
  t.strictSame(
    records.map(({ model, provider_cost_vnd }) => [model, provider_cost_vnd]),
    [
      ["claude-opus-5-5", "0.0035"],
      ["claude-haiku-5-5", null],
      ["claude-opus-5-5", "0.0015"],
    ],
  );

  const sum = (list: readonly Record<string, unknown>[], name: string) =>
    list.reduce((total, record) => total + (parseVnd(String(record[name])) ?? 0n), 0n);
  const opus = records.filter(({ provider_cost_vnd: cost }) => cost !== null);
  const [revenue, costed] = [sum(records, "cost_vnd"), sum(opus, "cost_vnd")];
  const whole = await admin(gateway, "GET", "/report");
  t.match(whole.body, {
    ...{
      calls: 3,
      failed_calls: 0,
      unknown_cost_calls: 1,
      below_cost_calls: 0,
      below_cost_vnd: "0",
    },
    ...{
      revenue_vnd: formatVnd(revenue),
      cost_vnd: "0.005",
      input_tokens: 3_000,
      output_tokens: 150,
    },
    margin_vnd: formatVnd(costed - 5_000n),
    ...{
      transfers_vnd: "0",
      credits_vnd: "100000",
      owed_vnd: formatVnd(100_000_000_000n - revenue),
    },
  });

  const command = async (...args: string[]) => {
    const env = { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken };
    const { code, stdout, stderr } = await runCli(["report", ...args], { env });
    t.equal(code, 0, stderr);
    return stdout;
  };
  const lines = (await command("--by", "model", "--csv")).split("\n");
  t.match(lines[0], /^model,revenue_vnd,cost_vnd,margin_vnd,/);
  t.match(lines[1], new RegExp(`^claude-opus-5-5,${formatVnd(costed)},0\\.005,`));
  t.match(lines[2], /^claude-haiku-5-5,[\d.]+,,,,1,/);
  t.strictSame(lines.slice(3), [""]);
  const byKey = JSON.parse(await command("--by", "key", "--json"));
  t.match(byKey, { cut: false, total: [{ calls: 3 }], rows: [{ calls: 3, key_id: String }] });
  t.equal(byKey.rows[0].account_id, customer.accountId);
  t.match(byKey.rows[0].email, /@/);
  t.equal(await command("--by", "day", "--to", "2020-01-31", "--csv"), "");
  for (const query of ["by=hour", "from=2026-02-30", "from=2026-03-01&to=2026-02-01", "limit=0"]) {
    const { status, body } = await admin(gateway, "GET", `/report?${query}`);
    t.equal(status, 400, query);
    t.match(body, { error: { param: query.split("=")[0] } });
  }
});
