import { readFileSync } from "node:fs";
import t from "tap";
import { sentenceOf } from "../../../plugins/admin/sentences.ts";
import { INVENTORY } from "../../inventory/inventory.ts";

const LAN = { operator: "lan@shop.vn", account: "minh@example.com", status: 200 };
const CREDIT = {
  ...LAN,
  action: "POST /admin/v1/accounts/:account/credits",
  details: { account: "01a2", amount_vnd: "200000.5", reference: "T-1", reason: "a refund" },
};
const REFUND = { ...LAN, account: undefined, action: "POST /admin/v1/refunds" };

t.test("the audit trail says in sentences who did what", async (t) => {
  const CASES = [
    [CREDIT, "lan@shop.vn credited minh@example.com 200,000.5 đ, reference T-1, because a refund"],
    [
      { ...CREDIT, operator: "7771d1f44014", status: 409 },
      "The admin token 7771d1f44014 credited minh@example.com 200,000.5 đ, reference T-1, because a refund; it was refused (409)",
    ],
    [
      { ...CREDIT, details: { amount_vnd: 5 }, status: 208 },
      "lan@shop.vn credited minh@example.com 5 đ; it had counted before, and nothing has changed",
    ],
    [
      { ...CREDIT, details: { amount_vnd: 5 }, status: 100 },
      "lan@shop.vn credited minh@example.com 5 đ; the gateway asked whether to do it, and did nothing yet",
    ],
    [
      { ...REFUND, details: { call: "01b3" }, status: null },
      "lan@shop.vn refunded the call 01b3; the result is not known",
    ],
    [
      { ...REFUND, account: LAN.account, details: { call: "01b3" } },
      "lan@shop.vn refunded the call 01b3 of minh@example.com",
    ],
    [
      {
        ...LAN,
        action: "POST /admin/v1/transfers/:transfer/assign",
        details: { transfer: "T1", order: "NAP123" },
      },
      "lan@shop.vn assigned the transfer T1 to minh@example.com, order NAP123",
    ],
    [
      {
        ...REFUND,
        action: "POST /admin/v1/transfers/:transfer/assign",
        details: { transfer: "T1", order: "NAP999" },
        status: 404,
      },
      "lan@shop.vn assigned the transfer T1, order NAP999; it was refused (404)",
    ],
    [
      {
        ...LAN,
        action: "POST /admin/v1/transfers/:transfer/reverse",
        details: { transfer: "T1" },
      },
      "lan@shop.vn took the transfer T1 of minh@example.com back",
    ],
    [
      { ...REFUND, details: { top_up: "transfer:5", amount_vnd: 1500 } },
      "lan@shop.vn refunded 1,500 đ of the top-up transfer:5",
    ],
    [
      {
        ...LAN,
        action: "POST /admin/v1/accounts/:account/discount",
        details: { discount_bps: 150 },
      },
      "lan@shop.vn set the discount of minh@example.com to 1.5 %",
    ],
    [
      { ...LAN, action: "POST /admin/v1/maintenance", details: { enabled: false } },
      "lan@shop.vn switched maintenance off",
    ],
    [
      {
        ...LAN,
        action: "POST /admin/v1/upstreams/:name/switch",
        details: { name: "openai", off: true, model: "gpt-4.1" },
      },
      "lan@shop.vn switched the provider openai for gpt-4.1 off",
    ],
    [
      {
        ...LAN,
        action: "POST /admin/v1/keys/:key/limits",
        details: {
          key: "01c4",
          key_name: "laptop",
          paused: true,
          models: "gpt-4.1, gpt-5",
          day_vnd: 5000,
          month_vnd: null,
        },
      },
      "lan@shop.vn limited the key 01c4 (laptop) of minh@example.com; paused: on; models: gpt-4.1, gpt-5; đ a day: 5,000; đ a month: no limit",
    ],
    [
      {
        ...LAN,
        action: "POST /admin/v1/accounts/:account/keys",
        details: { name: "laptop", "limits.day_vnd": "5000", "limits.month_vnd": null },
      },
      "lan@shop.vn created the key laptop of minh@example.com; đ a day: 5,000",
    ],
    [
      {
        ...LAN,
        action: "POST /admin/v1/vouchers",
        details: { amount_vnd: "50000", until: "2026-12-31", note: "Tết" },
      },
      "lan@shop.vn made voucher codes: 1 × 50,000 đ; until: 2026-12-31; for: Tết",
    ],
    [
      { ...LAN, action: "POST /admin/v1/reload", details: { check: true, reason: "new prices" } },
      "lan@shop.vn reloaded the config, because new prices; only to see what it would change",
    ],
    [
      {
        ...LAN,
        action: "prices changed",
        details: { "glm-5 input": "changed: 10 → 12 đ (+20 %)", "gpt-5 tokens": "new: none → 9 đ" },
      },
      "lan@shop.vn changed prices: glm-5 input: 10 → 12 đ (+20 %); gpt-5 tokens: new: none → 9 đ",
    ],
    [
      { ...LAN, action: "POST /admin/v1/plugins/:plugin/act", details: {} },
      "lan@shop.vn POST /admin/v1/plugins/:plugin/act",
    ],
    [
      { ...CREDIT, details: { amount_vnd: "5", reason: "{account} [x {amount_vnd}]" } },
      "lan@shop.vn credited minh@example.com 5 đ, because {account} [x {amount_vnd}]",
    ],
  ] as const;
  for (const [told, expected] of CASES) t.equal(sentenceOf(told, "en"), expected);
  t.equal(
    sentenceOf(CREDIT, "vi"),
    "lan@shop.vn cộng 200.000,5 đ cho minh@example.com, mã T-1, vì a refund",
  );
  const switched = { ...LAN, action: "POST /admin/v1/maintenance", details: { enabled: true } };
  t.equal(sentenceOf(switched, "vi"), "lan@shop.vn bật chế độ bảo trì");
});

t.test("every change has a sentence of its own", async (t) => {
  const lines = readFileSync(INVENTORY, "utf8").matchAll(
    /^route (\S+) (POST|DELETE) operator \w+$/gm,
  );
  const actions = Array.from(lines, ([, path, method]) => `${method} ${path}`);
  t.ok(actions.length > 40);
  const without = actions.filter((action) =>
    sentenceOf({ ...LAN, action, details: {} }, "vi").includes(action),
  );
  t.strictSame(without, []);
});
