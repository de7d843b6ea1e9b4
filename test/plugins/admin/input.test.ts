import assert from "node:assert/strict";
import t from "tap";
import { formatVnd } from "../../../core/catalogue/amount.ts";
import { readBody, readQuery } from "../../../core/plugin/json-route.ts";
import { isId } from "../../../core/process/id.ts";
import { isRefusal } from "../../../core/wire/refusal.ts";
import {
  callSearch,
  ledgerQuery,
  movement,
  newAccount,
  newKey,
  usagePage,
} from "../../../plugins/admin/input.ts";

const body = (value: unknown) => Buffer.from(JSON.stringify(value));
const raw = (text: string) => Buffer.from(text);

/** The `param` and message of a refusal; throws if the input was accepted. */
function refused(result: unknown): { param: string | null; message: string } {
  assert.ok(isRefusal(result), `accepted: ${JSON.stringify(result, text)}`);
  assert.equal(result.status, 400);
  return { param: result.param, message: result.message };
}

function text(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

t.test("admin input: amounts", async (t) => {
  const accepted: [string, bigint][] = [
    // JSON as sent             µđ
    ["1", 1_000_000n],
    ["-1", -1_000_000n],
    ["0.1", 100_000n],
    ["0.000001", 1n],
    ["999999999.999999", 999_999_999_999_999n],
    ["100000000000", 100_000_000_000_000_000n],
    ["1e3", 1_000_000_000n],
    ['"1"', 1_000_000n],
    ['"-0.5"', -500_000n],
    ['"9007199254.740991"', 9_007_199_254_740_991n],
    ['"00012.300000"', 12_300_000n],
  ];
  for (const [json, microVnd] of accepted) {
    t.test(`accepts ${json}`, async (t) => {
      const result = readBody(movement, raw(`{"amount_vnd":${json},"reference":"r"}`));
      assert.ok(!isRefusal(result), String(result));
      t.equal(result.amount_vnd, microVnd);
    });
  }

  t.test("refuses an amount that two readers read differently, as the CLI does", async (t) => {
    for (const [amount, advice] of [
      ["100.000", "100.000 can be read as 100000 đ and as 100 đ; write 100000, or 100."],
      ["-12.345", "-12.345 can be read as -12345 đ and as -12.345 đ; write -12345, or -12.3450."],
      ["1,000", "1,000 can be read as 1000 đ and as 1 đ; write 1000, or 1."],
      ["1.000.000", "write 1000000, without separators."],
    ] as const) {
      const result = readBody(movement, body({ amount_vnd: amount, reference: "r" }));
      t.equal(refused(result).message, `amount_vnd: expected another amount: ${advice}`);
    }
    for (const amount of ["0.125", "-12.3450", "1000.125"]) {
      t.notOk(isRefusal(readBody(movement, body({ amount_vnd: amount, reference: "r" }))), amount);
    }
  });

  t.test("takes back every amount that a reply prints", async () => {
    for (let milli = 1; milli < 20_000; milli++) {
      const amount = formatVnd(milli * 1_000);
      const result = readBody(movement, body({ amount_vnd: amount, reference: "r" }));
      assert.ok(!isRefusal(result), amount);
    }
  });

  const refusals = [
    "0",
    "-0",
    '"0.000000"',
    "0.0000001",
    "1.2345678",
    '"1.2345678"',
    // JSON numbers that differ by 1 µđ are equal here, so only a string is exact.
    "9007199254.740991",
    "1e21",
    "1e-7",
    '"1e3"',
    '" 1"',
    '"+1"',
    '"0x10"',
    '"NaN"',
    '""',
    '"9999999999999"',
    "null",
    "true",
    "[1]",
    "{}",
  ];
  for (const json of refusals) {
    t.test(`refuses ${json}`, async (t) => {
      const { param, message } = refused(
        readBody(movement, raw(`{"amount_vnd":${json},"reference":"r"}`)),
      );
      t.equal(param, "amount_vnd");
      t.match(message, /at most 6 decimals/);
    });
  }
});

t.test("admin input: text", async (t) => {
  t.test("lowers the case of an e-mail address and trims it", async (t) => {
    t.strictSame(readBody(newAccount, body({ email: " A.b+c@Example.COM " })), {
      email: "a.b+c@example.com",
    });
  });

  for (const email of ["", "a", "a@", "@b.co", "a b@c.de", "a@b", `${"a".repeat(250)}@b.co`, 7]) {
    t.test(`refuses the address ${JSON.stringify(email).slice(0, 20)}`, async (t) => {
      t.equal(refused(readBody(newAccount, body({ email }))).param, "email");
    });
  }

  for (const name of ["", "   ", "a\nb", "a\u0000b", "x".repeat(101), "\ud800", null, 1]) {
    t.test(`refuses the name ${JSON.stringify(name).slice(0, 20)}`, async (t) => {
      t.equal(refused(readBody(newKey, body({ name }))).param, "name");
    });
  }

  t.test("accepts names in any language", async (t) => {
    t.strictSame(readBody(newKey, body({ name: "Máy chủ số 1 🚀" })), {
      name: "Máy chủ số 1 🚀",
      limits: {},
    });
  });

  t.test("limits the length of references and reasons", async (t) => {
    const sent = { amount_vnd: "1", reference: "r".repeat(201) };
    t.equal(refused(readBody(movement, body(sent))).param, "reference");
    const reason = "r".repeat(501);
    t.equal(refused(readBody(movement, body({ ...sent, reference: "r", reason }))).param, "reason");
  });
});

t.test("admin input: shapes", async (t) => {
  for (const json of ["", "{", "nul", "\u0000", '{"email":"a@b.co"}}']) {
    t.test(`refuses ${JSON.stringify(json)} as no JSON`, async (t) => {
      t.match(refused(readBody(newAccount, raw(json))).message, /not JSON/);
    });
  }

  t.test("refuses text that is not UTF-8", async (t) => {
    const bytes = Buffer.concat([raw('{"name":"'), Buffer.from([0xff, 0xfe]), raw('"}')]);
    t.match(refused(readBody(newKey, bytes)).message, /not JSON/);
  });

  for (const value of [null, [], 1, "text", [{ email: "a@b.co" }]]) {
    t.test(`refuses ${JSON.stringify(value)} because it is no object`, async () => {
      refused(readBody(newAccount, body(value)));
    });
  }

  t.test("names a missing field and an unknown one", async (t) => {
    t.match(refused(readBody(newAccount, body({}))).message, /^email: expected an e-mail/);
    const { param, message } = refused(readBody(newAccount, body({ email: "a@b.co", mail: 1 })));
    t.equal(param, "mail");
    t.match(message, /unknown field; use email/);
    refused(readBody(newAccount, raw('{"email":"a@b.co","__proto__":{"x":1}}')));
  });
});

t.test("admin input: pages of usage", async (t) => {
  const page = (query: string) => readQuery(usagePage, new URLSearchParams(query));
  const id = "01a1f8dd-7b02-75fa-97ae-a9020a2b8f2d";

  t.test("has its own limit", async (t) => t.strictSame(page(""), { limit: 100 }));

  t.test("continues after the last record of the page before", async (t) => {
    t.strictSame(page(`limit=5&before=2026-11-20T12:10:26.946Z,${id}`), {
      limit: 5,
      before: { at: new Date("2026-11-20T12:10:26.946Z"), callId: id },
    });
  });

  for (const query of ["limit=0", "limit=1001", "limit=-1", "limit=x", "limit=", "page=2"]) {
    t.test(`refuses ${query}`, async () => {
      refused(page(query));
    });
  }
  for (const before of ["x", `x,${id}`, "2026-11-20,1", `2026-11-20T12:10:26.946Z,${id}x`]) {
    t.test(`refuses before=${before}`, async (t) =>
      t.equal(refused(page(`before=${before}`)).param, "before"),
    );
  }
});

t.test("admin input: ids", async (t) => {
  t.test("must have the exact form that the gateway gives them", async (t) => {
    t.ok(isId("01a1f8dd-7b02-75fa-97ae-a9020a2b8f2d"));
    // The hold store compares ids as text: another spelling would be another wallet.
    t.ok(!isId("01A1F8DD-7B02-75FA-97AE-A9020A2B8F2D"));
    for (const other of ["", "1", "'; drop table", "01a1f8dd7b0275fa97aea9020a2b8f2d"]) {
      t.ok(!isId(other), other);
    }
  });
});

t.test(
  "admin input: a day that no month has is refused, not taken for one of the next",
  async (t) => {
    for (const from of ["2026-02-30", "2026-02-30T10:00", "2026-04-31", "2026-13-01"]) {
      const asked = new URLSearchParams({ from });
      t.equal(refused(readQuery(callSearch, asked)).param, "from", from);
      t.ok(isRefusal(readQuery(ledgerQuery, asked)), from);
    }
    const leap = readQuery(callSearch, new URLSearchParams({ from: "2028-02-29T10:00" }));
    assert.ok(!isRefusal(leap));
    t.equal(leap.from?.start.toISOString(), "2028-02-29T03:00:00.000Z");
  },
);

t.test(
  "admin input: a refusal of a reference names each prefix that is the gateway's own",
  async (t) => {
    for (const prefix of ["transfer:", "taken-back:", "refund:", "bonus:", "voucher:", "drift:"]) {
      const sent = { amount_vnd: "5", reference: `${prefix}17`, reason: null };
      const { param, message } = refused(readBody(movement, body(sent)));
      t.equal(param, "reference");
      t.ok(message.includes(` ${prefix}`), message);
    }
  },
);
