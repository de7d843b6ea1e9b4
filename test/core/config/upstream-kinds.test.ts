import t from "tap";
import type { ImportPlugin } from "../../../core/config/plugins.ts";
import { signing } from "../upstream/kinds/signing.ts";
import { accepted, GATEWAY, refused, swap } from "./files.ts";

/** The plugin of the valid config, which here brings a kind too. */
const OF_PLUGIN = {
  provides: ["guards.operator"],
  upstreamKind: signing,
  default: () => ({ name: "test" }),
};
const importPlugin: ImportPlugin = async () => OF_PLUGIN;
const kinds = { importPlugin };

/** The valid config with another upstream instead of its own. */
function withUpstream(written: string): { "gateway.yaml": string } {
  const own = `    protocols: { messages: "http://127.0.0.1:9001" }\n    keys: [first-key, second-key]\n`;
  return { "gateway.yaml": swap(GATEWAY, own, written) };
}

t.test("the kind of an upstream", async (t) => {
  t.test("may be given even if it is the default", async (t) => {
    const files = { "gateway.yaml": swap(GATEWAY, "    keys:", "    kind: http-json\n    keys:") };
    t.equal((await accepted(t, files)).upstreams["main"]?.kind, "http-json");
  });

  t.test("has its own settings and protocols", async (t) => {
    const files = withUpstream(`    kind: signing\n    address: http://a\n    secret: s\n`);
    const { main } = (await accepted(t, files, {}, kinds)).upstreams;
    t.strictSame([main?.kind, [...(main?.protocols ?? [])]], ["signing", ["messages", "images"]]);
    t.ok(!JSON.stringify(main).includes("secret"), "settings are hidden from plugins");
  });

  for (const [what, written, expected] of [
    [
      "that does not exist",
      `    kind: signs\n    secrets: s\n`,
      ["gateway.yaml:9 upstreams.main.kind: expected one of http-json, bedrock, signing"],
    ],
    [
      "that is not text",
      `    kind: 7\n`,
      [
        "gateway.yaml:9 upstreams.main.kind: expected one of http-json, bedrock, signing, got a number",
      ],
    ],
    [
      "with settings of another kind",
      `    kind: signing\n    address: http://a\n    secret: s\n    keys: [k]\n`,
      [
        "gateway.yaml:12 upstreams.main.keys: unknown key; expected kind, address, secret, token_address, forms_only, profile, connections, connection_seconds, proxy, first_byte_seconds, reply_seconds, features",
      ],
    ],
    [
      "with wrong settings, each reported with its line",
      `    kind: signing\n    address: ftp://a\n    secret: 7\n`,
      [
        "gateway.yaml:10 upstreams.main.address: expected an http:// address",
        "gateway.yaml:11 upstreams.main.secret: expected a secret, got a number",
      ],
    ],
  ] as const) {
    t.test(`is refused: one ${what}`, async (t) => {
      t.strictSame(await refused(t, withUpstream(written), {}, kinds), expected);
    });
  }

  for (const [what, brought, expected] of [
    [
      "without a name",
      { ...signing, name: "Signing!" },
      "expected an upstreamKind with a name, settings (a schema for each), protocols() and create()",
    ],
    [
      "with a setting that is no schema",
      { ...signing, settings: { address: "text" } },
      "expected an upstreamKind with a name, settings (a schema for each), protocols() and create()",
    ],
    [
      "without settings",
      { name: "bare", protocols: signing.protocols, create: signing.create },
      "expected an upstreamKind with a name, settings (a schema for each), protocols() and create()",
    ],
    [
      "that cannot create an upstream",
      { ...signing, create: undefined },
      "expected an upstreamKind with a name, settings (a schema for each), protocols() and create()",
    ],
    [
      "with a setting that every upstream has",
      { ...signing, settings: { profile: signing.settings.secret } },
      "expected an upstreamKind without the setting profile, which every upstream has",
    ],
    [
      "with the name of another",
      { ...signing, name: "http-json" },
      "expected an upstreamKind whose name is none of http-json, bedrock",
    ],
  ] as const) {
    t.test(`cannot be brought by a plugin ${what}`, async (t) => {
      const module = { ...OF_PLUGIN, upstreamKind: brought };
      const importBroken: ImportPlugin = async () => module;
      const problems = await refused(t, {}, {}, { importPlugin: importBroken });
      const [, at, message] =
        /^(gateway\.yaml:\d+ plugins\[0\])\S*: (.*)$/.exec(problems[0] ?? "") ?? [];
      t.strictSame([at, message], ["gateway.yaml:13 plugins[0]", expected]);
    });
  }

  t.test("reports its protocols to routes, even if other settings are wrong", async (t) => {
    const files = {
      ...withUpstream(`    protocols: { chat: "http://a" }\n    keys: []\n`),
    };
    const problems = await refused(t, files);
    t.match(problems.join("\n"), /upstreams\.main\.keys: expected a list of at least one key/);
    t.match(
      problems.join("\n"),
      /expected an upstream with the protocol messages, which main lacks/,
    );
  });
});
