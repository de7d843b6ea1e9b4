import t from "tap";
import { accepted, GATEWAY, refused, swap } from "../../core/config/files.ts";

const RIGHT = `topup:
      bank: { bin: "970436", name: Vietcombank, account_number: "0123499999", account_name: TOLLGATE }
      webhook: { api_key: "0123456789abcdef" }
      promotions: { lifetime: { discount_bps: 100 }, counted: all }
      minimum_vnd: 50000`;

const BONUS = "{ name: tet, title: Tết, first_day: 2027-01-15, last_day: 2027-02-15, percent: 10 }";

/** Bonuses with one whose field is this. */
function bonusWith(field: string): string {
  const key = field.split(":")[0] ?? "";
  const others = BONUS.slice(1, -1)
    .split(",")
    .filter((other) => other.split(":")[0]?.trim() !== key);
  return `bonuses: [{ ${[...others, field].join(", ")} }]`;
}

/** An invalid change to the settings: the text to replace, its replacement, the expected error. */
const WRONG: readonly (readonly [from: string, to: string, told: RegExp])[] = [
  [`bin: "970436"`, `bin: "97043"`, /bank\.bin: expected the six digits of a bank/],
  [`bin: "970436"`, `bin: 970436`, /bank\.bin: expected the six digits of a bank/],
  [`bin: "970436", `, ``, /bank\.bin: expected the six digits of a bank/],
  [`"0123499999"`, `"0123 499 999"`, /bank\.account_number: expected an account number/],
  [`"0123499999"`, `123499999`, /bank\.account_number: expected an account number/],
  [`name: Vietcombank`, `name: ""`, /bank\.name: expected the bank's name/],
  [`name: Vietcombank`, `name: MB`, /bank\.name: expected .* Vietcombank; .* bin 970422$/],
  [`bin: "970436"`, `bin: "970422"`, /bank\.name: expected .* MB Bank; .* bin 970436$/],
  [`minimum_vnd: 50000`, `minimum_vnd: 0`, /minimum_vnd: expected a whole number/],
  [`minimum_vnd: 50000`, `minimum_vnd: 50000.5`, /minimum_vnd: expected a whole number/],
  [`minimum_vnd: 50000`, `minimum_vnd: 600000000`, /expected a minimum_vnd that is at most/],
  [`minimum_vnd: 50000`, `order_prefix: tg`, /order_prefix: expected 2 to 6 capital letters/],
  [`minimum_vnd: 50000`, `order_prefix: "TG1"`, /order_prefix: expected 2 to 6 capital letters/],
  [`minimum_vnd: 50000`, `order_prefix: TOP`, /order_prefix: expected 2 to 6 capital letters/],
  [`minimum_vnd: 50000`, `content_prefix: SEVQR VQRSE`, /content_prefix: expected 2 to 10 capital/],
  [`minimum_vnd: 50000`, `order_valid_minutes: 1`, /order_valid_minutes: expected a whole number/],
  [`"0123456789abcdef"`, `"too-short"`, /webhook\.api_key: expected a secret of 16 to 512/],
  [`"0123456789abcdef"`, `""`, /webhook\.api_key: expected a secret of 16 to 512/],
  ...[
    [`name: Tết`, /bonuses\[0\]\.name: expected 1 to 40 lower-case letters, digits and hyphens/],
    [`first_day: 2027-01-32`, /bonuses\[0\]\.first_day: expected a day in Vietnam/],
    [`first_day: 2027-02-16`, /bonuses\[0\]: expected a last_day that is not before first_day/],
    [`percent: 0`, /bonuses\[0\]\.percent: expected a whole number from 1 to 100/],
    [`percent: 7.5`, /bonuses\[0\]\.percent: expected a whole number/],
    [`minimum_vnd: 0`, /bonuses\[0\]\.minimum_vnd: expected a whole number/],
    [`applies: always`, /bonuses\[0\]\.applies: expected one of each_time/],
    [`adds_up: "yes"`, /bonuses\[0\]\.adds_up: expected true or false/],
    [`until: 2027-01-01`, /bonuses\[0\]\.until: unknown key/],
  ].map(([wrong, told]) => [`counted: all`, bonusWith(String(wrong)), told as RegExp] as const),
  [
    `counted: all`,
    `bonuses: [${BONUS}, ${BONUS}]`,
    /bonuses: expected bonuses with different names/,
  ],
  [`webhook: {`, `webhook: { secret: x,`, /webhook\.secret: unknown key/],
  [`minimum_vnd: 50000`, `poll: {}`, /poll\.token: expected a secret of 16 to 512/],
  [
    `minimum_vnd: 50000`,
    `poll: { token: "0123456789abcdef", interval_seconds: 5 }`,
    /interval_seconds/,
  ],
  [
    `minimum_vnd: 50000`,
    `poll: { token: "0123456789abcdef", url: my.sepay.vn }`,
    /SePay's address/,
  ],
  [`discount_bps: 100`, `discount_bps: 5001`, /lifetime\.discount_bps: expected a whole number/],
  [`counted: all`, `counted: none`, /promotions\.counted: expected one of all, transfers/],
];

/**
 * The plugins that topup needs: customers who order, their mails, and admin, which checks the operator's token.
 */
const files = (plugin: string) => ({
  "gateway.yaml": swap(GATEWAY, "./plugin.js", `messages\n  - accounts\n  - ${plugin}\n  - admin`),
});

t.test("valid top-up settings have sensible defaults", async (t) => {
  const { plugins } = await accepted(t, files(RIGHT));
  t.strictSame(plugins.find(({ name }) => name === "topup")?.options, {
    bank: {
      bin: "970436",
      name: "Vietcombank",
      account_number: "0123499999",
      account_name: "TOLLGATE",
    },
    order_prefix: "TG",
    minimum_vnd: 50_000,
    maximum_vnd: 499_999_999,
    order_valid_minutes: 1_440,
    open_orders_max: 5,
    webhook: { api_key: "0123456789abcdef", clock_tolerance_seconds: 300 },
    promotions: {
      lifetime: { threshold_vnd: 10_000_000, discount_bps: 100 },
      daily: { threshold_vnd: 100_000, discount_bps: 100 },
      counted: "all",
      bonuses: [],
    },
  });
});

t.test("a bank may have any of its names, or be one that is not known", async (t) => {
  for (const [bin, name] of [
    ["970422", "MBBank"],
    ["970436", "Ngân hàng TMCP Ngoại Thương Việt Nam"],
    ["970449", "LienVietPostBank"],
    ["970449", "LPBank"],
    ["970449", "a bank of a later year"],
    ["999999", "a bank of a later year"],
  ]) {
    const bank = swap(swap(RIGHT, "970436", String(bin)), "Vietcombank", String(name));
    await accepted(t, files(bank));
  }
});

for (const [from, to, told] of WRONG) {
  t.test(`${to || `no ${from}`} is refused before the gateway starts`, async (t) => {
    const [first = "", ...more] = await refused(t, files(swap(RIGHT, from, to)));
    t.match(first, told);
    t.strictSame(more, [], "the error is printed once");
  });
}

t.test("top-ups without a bank account are refused", async (t) => {
  const [first = ""] = await refused(t, files("topup"));
  t.match(first, /bank/);
});
