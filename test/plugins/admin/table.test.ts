import t from "tap";
import type { Output } from "../../../plugins/admin/cli/command.ts";
import { print } from "../../../plugins/admin/cli/output.ts";

async function shown(output: Output, form: "table" | "compact" = "table"): Promise<string> {
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
  t.strictSame(lines.slice(0, 3), ["id    email", "a0    x@y.z", "a1    -"]);
  t.strictSame(lines.slice(-2), ["a299  x@y.z", ""]);
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
      "rows   []",
      "note   -",
      "",
      "upstreams",
      "name  protocols",
      'one   {"chat":"http://a/v1","messages":"http:…',
      "",
    ].join("\n"),
  );
  t.equal(await shown(value([{ n: 1 }])), "n\n1\n");
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
