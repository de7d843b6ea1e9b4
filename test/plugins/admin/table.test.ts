import t from "tap";
import type { Output } from "../../../plugins/admin/cli/command.ts";
import { print } from "../../../plugins/admin/cli/output.ts";

const WHOLE = { width: Number.POSITIVE_INFINITY };

async function shown(output: Output, form: Parameters<typeof print>[1] = WHOLE): Promise<string> {
  let text = "";
  await print(output, form, async (more) => {
    text += more;
  });
  return text;
}

const value = (given: unknown): Output => ({ kind: "value", value: given, exitCode: 0 });

async function* many(count: number) {
  for (let at = 0; at < count; at++) yield { id: `a${at}`, email: at === 1 ? null : "x@y.z" };
}

t.test("a terminal gets a list as a table, a line for each item", async (t) => {
  const text = await shown({ kind: "list", items: many(300) });
  const lines = text.split("\n");
  t.strictSame(lines.slice(0, 3), ["email  id", "x@y.z  a0", "-      a1"]);
  t.strictSame(lines.slice(-2), ["x@y.z  a299", ""]);
  t.equal(lines.length, 302);
  t.equal(await shown({ kind: "list", items: many(0) }), "none\n");
});

t.test("a terminal gets an object as fields, and lists in it as tables", async (t) => {
  const upstream = {
    name: "one",
    protocols: { chat: "http://a/v1", messages: "http://a-longer-name" },
  };
  t.equal(
    await shown(value({ drift: false, upstreams: [upstream], rows: [], note: "" })),
    [
      "drift  false",
      "rows   none",
      "note   -",
      "",
      "upstreams",
      "name  protocols",
      "one   chat http://a/v1, messages http://a-longer-name",
      "",
    ].join("\n"),
  );
  t.equal(await shown(value([{ n: 1 }])), "n\n1\n");
});

const KEYS = [
  {
    id: "01a1f8dd-7b02-75fa-97ae-a9020a2b8f2d",
    name: "the laptop of the second developer",
    revoked_at: null,
    requests_per_minute: 60,
    created_at: "2026-11-27T20:47:36.123Z",
    account_id: "01a1f8dd-7b02-75fa-97ae-a9020a2b8f2e",
  },
  { id: "01a1f8dd-7b02-75fa-97ae-a9020a2b8f2f", name: "ci", requests_per_minute: 7 },
];

t.test("a table shows names first, ids last, and local times, and fits the terminal", async (t) => {
  const { TZ } = process.env;
  process.env["TZ"] = "Asia/Tokyo";
  t.teardown(() => {
    if (TZ === undefined) delete process.env["TZ"];
    else process.env["TZ"] = TZ;
  });
  const lines = async (width: number) => (await shown(value(KEYS), { width })).split("\n");
  const whole = await lines(Number.POSITIVE_INFINITY);
  const [head = "", row, , ...notes] = whole;
  t.match(head, /^name +revoked_at +requests_per_minute +created_at +id +account_id$/);
  t.match(row, /^the laptop of the second developer .* 60 {2}2026-11-28 05:47:36 {2}01a1f8dd-7b/);
  t.strictSame(notes, ["", "times: Asia/Tokyo", ""]);
  t.strictSame(await lines(row?.length ?? 0), whole);
  t.strictSame(await lines(100), [
    "name                      revoked_at  requests_per_minute  created_at           id         account_…",
    "the laptop of the secon…  -                            60  2026-11-28 05:47:36  …0a2b8f2d  …0a2b8f2e",
    "ci                        -                             7  -                    …0a2b8f2f  -",
    "",
    "times: Asia/Tokyo",
    "cut to fit; --wide shows all",
    "",
  ]);
  t.strictSame(await lines(60), [
    "name              requests_…  created_at           id",
    "the laptop of t…          60  2026-11-28 05:47:36  …0a2b8f2d",
    "ci                         7  -                    …0a2b8f2f",
    "",
    "times: Asia/Tokyo",
    "left out: revoked_at, account_id; --wide shows all",
    "",
  ]);
});

t.test("a narrow table keeps what a reader looks for, and counts what it leaves out", async (t) => {
  const call = (at: number) => ({
    ...Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`quantity_${n}`, 1234567890])),
    endpoint: "/v1/images/generations/of/cats",
    cost_vnd: `${at}.5`,
    model: "a-model-of-words",
    call_id: "01a1f8dd-7b02-75fa-97ae-a9020a2b8f2d",
  });
  t.equal(
    await shown(value([call(1), call(12)]), { width: 62 }),
    [
      "model             cost_vnd  quantity_0  quantity_1  call_id",
      "a-model-of-words       1.5  1234567890  1234567890  …0a2b8f2d",
      "a-model-of-words      12.5  1234567890  1234567890  …0a2b8f2d",
      "",
      "left out: 8 columns; --wide shows all",
      "",
    ].join("\n"),
  );
  const paths = [{ action: "POST /admin/v1/accounts/:account/credits" }];
  t.match(await shown(value(paths), { width: 20 }), "POST /adm…nt/credits\n");
});

t.test("a name that a customer chose does not reach the terminal's controls", async (t) => {
  t.equal(await shown(value([{ name: "a\u001b[2Jb\u202ec\nd" }])), "name\na?[2Jb?c?d\n");
});

t.test("nor does it in JSON, which escapes it", async (t) => {
  const name = "a\u001b\u007f\u009b2J\u202ec\u{e0001}\n";
  const list = async function* () {
    yield { name };
  };
  for (const output of [value([{ name }]), { kind: "list", items: list() } as const]) {
    const text = await shown(output, "compact");
    t.equal(text, '[{"name":"a\\u001b\\u007f\\u009b2J\\u202ec\\udb40\\udc01\\n"}]\n');
    t.strictSame(JSON.parse(text), [{ name }]);
  }
});

t.test(
  "a spreadsheet gets a list, or the last list of an object, and runs no text in it",
  async (t) => {
    const rows = [
      { name: '=1+"1"', amount: "-5.5", more: { a: 1 }, none: null },
      { name: "x;=1+1", amount: "1", more: null, none: null },
      { name: "a, b", amount: 3, none: "-x" },
    ];
    const lines = [
      "name,amount,more,none",
      `"'=1+""1""",-5.5,"{""a"":1}",`,
      `"x;'=1+1",1,,`,
      `"a, b",3,,'-x`,
      "",
    ];
    const total = [{ amount: 8 }];
    for (const output of [value(rows), value({ cut: false, total, rows })]) {
      t.equal(await shown(output, "csv"), lines.join("\n"));
    }
    t.equal(await shown({ kind: "list", items: many(1) }, "csv"), "id,email\na0,x@y.z\n");
    t.equal(await shown(value({ total, rows: [] }), "csv"), "");
    t.equal(await shown(value({ calls: 3, cost: null }), "csv"), "calls,cost\n3,\n");
  },
);
