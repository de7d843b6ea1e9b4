import t from "tap";
import { BUILT_IN } from "../../../core/config/plugin-files.ts";
import { accepted, refused, rowsOf } from "./files.ts";

const CATALOGUE = `models:
  - { id: chat-a, price_vnd_per_mtok: 5000, context_window: 200000, max_output_tokens: 1000, labels: [streaming], standard: chat, routes: [{ upstream: main, model: a }] }
  - { id: chat-b, price_vnd_per_mtok: 5000, context_window: 200000, max_output_tokens: 1000, labels: [streaming], standard: messages, routes: [{ upstream: main, model: b }] }
  - { id: req/img, price_vnd_per_call: 1000, standard: images, routes: [{ upstream: main, model: i }] }
`;

/** Line 1 is `listen`, line 2 `admin`, line 3 `unbilled`; the first plugin stands on line 7. */
interface Settings {
  readonly host?: string;
  readonly token?: boolean;
  readonly unbilled?: boolean;
}

function files(list: string, { host = "127.0.0.1", token = false, unbilled = false }: Settings) {
  const plugins = list.trim().split(/\s*\n\s*/);
  const gateway = `listen: { host: "${host}" }
admin: {${token ? " token: 0123456789abcdef0123456789abcdef " : ""}}
unbilled: ${unbilled}
upstreams: { main: { protocols: { chat: "http://127.0.0.1:9/v1", messages: "http://127.0.0.1:9", images: "http://127.0.0.1:9/v1" }, keys: [k] } }
catalogue: catalogue.yaml
plugins:
${plugins.map((plugin) => `  - ${plugin}\n`).join("")}`;
  return {
    "gateway.yaml": gateway,
    "catalogue.yaml": CATALOGUE,
    "lists.js": `export const requires = ["keys"]; export default () => ({ name: "lists" });\n`,
    "behind.js": `export const after = ["./ahead.js"]; export default () => ({ name: "behind" });\n`,
    "ahead.js": `export const after = ["./behind.js"]; export default () => ({ name: "ahead" });\n`,
    "sees.js": `export const requires = ["model"]; export default () => ({ name: "sees" });\n`,
    "budget.js": `export const requires = ["key"]; export const sets = ["purses"]; export default () => ({ name: "budget" });\n`,
    "knows.js": `export const sets = ["key"]; export default () => ({ name: "knows" });\n`,
  };
}

const RIGHT = "the right order is auth, rate-limit, alias, translate, meter, settle";
const ALIAS = "alias: { default_family: m, families: { m: chat-a } }";
const AUTH = new URL("auth", BUILT_IN).pathname;

/** A name, a list of plugins, the expected problems, and the other settings. */
type Row = readonly [name: string, list: string, expected: readonly string[], settings?: Settings];

const wrong: readonly Row[] = [
  ...rowsOf(String.raw`
settle before meter, so holds would not cover the input
  -> auth\nrate-limit\n${ALIAS}\ntranslate\nsettle\nmeter
  gateway.yaml:11 plugins[4].settle: expected settle after meter, which sets usage
rate-limit before auth, so it would limit nothing
  -> rate-limit: { requests_per_minute: 1 }\nauth\n${ALIAS}\ntranslate\nmeter\nsettle
  gateway.yaml:7 plugins[0].rate-limit: expected rate-limit after auth, which sets key
meter before translate
  -> metrics\nauth\nrate-limit\n${ALIAS}\nmeter\ntranslate\nsettle
  gateway.yaml:11 plugins[4].meter: expected meter after translate, which sets upstream
translate before alias
  -> auth\nrate-limit\ntranslate\n${ALIAS}\nmeter\nsettle
  gateway.yaml:9 plugins[2].translate: expected translate after alias, which sets model
settle first
  -> settle\nauth\nmeter
  gateway.yaml:7 plugins[0].settle: expected settle after auth, which sets key, meter, which sets usage
an outside plugin before one that it requires
  -> auth\n./sees.js\n${ALIAS}\nmeter\nsettle
  gateway.yaml:8 plugins[1]["./sees.js"]: expected ./sees.js after alias, which sets model
a budget after settle, so it would limit nothing
  -> auth\nmeter\nsettle\n./budget.js
  gateway.yaml:9 plugins[2].settle: expected settle after ./budget.js, which sets purses
two plugins that each must be after the other
  -> auth\nmeter\nsettle\n./behind.js\n./ahead.js
  gateway.yaml:10 plugins[3]["./behind.js"]: expected ./behind.js after ./ahead.js
no auth
  -> rate-limit\n${ALIAS}\ntranslate\nmeter\nsettle
  gateway.yaml:6 plugins: expected auth too, which charging needs; add "- auth" (${RIGHT}), or set unbilled: true at the top level to serve calls free of charge
no meter
  -> auth\n${ALIAS}\ntranslate\nsettle
  gateway.yaml:6 plugins: expected meter too, which charging needs; add "- meter" (the right order is auth, alias, translate, meter, settle), or set unbilled: true at the top level to serve calls free of charge
no meter and no settle
  -> auth\nalias: { families: { m: chat-a } }
  gateway.yaml:6 plugins: expected meter, settle too, which charging needs; add "- meter", "- settle" (the right order is auth, alias, meter, settle), or set unbilled: true at the top level to serve calls free of charge
dashboard without accounts
  -> auth\nmeter\nsettle\nadmin\ndashboard
  gateway.yaml:11 plugins[4].dashboard: expected accounts in the list of plugins too; this plugin needs it
topup without accounts
  -> auth\nmeter\nsettle\ntopup: { bank: { bin: "970422", name: B, account_number: "12345678", account_name: A } }
  gateway.yaml:10 plugins[3].topup: expected accounts in the list of plugins too; this plugin needs it
one plugin by name and by path, so it would run twice
  -> auth\n${AUTH}\nmeter\nsettle
  gateway.yaml:8 plugins[1]: expected each plugin at most once; plugins[0] is the same plugin
one plugin twice by name
  -> auth\nmeter\nsettle\nauth
  gateway.yaml:10 plugins[3]: expected each plugin at most once; plugins[0] is the same plugin
a plugin that requires an unknown field of calls
  -> auth\nmeter\nsettle\n./lists.js
  gateway.yaml:10 plugins[3]: expected a module whose export requires is a list of key, model, upstream, usage, purses, hold
the simulator on a public address
  -> auth\nmeter\nsettle\nsimulator: { host: "::", port: 28932 }
  gateway.yaml:10 plugins[3].simulator.host: expected a loopback address, or allow_public: true, since it serves everyone, without a key
an alias of a model that does not exist
  -> auth\nalias: { default_family: m, families: { m: chat-z } }\nmeter\nsettle
  gateway.yaml:8 plugins[1].alias.families.m: expected a model of the catalogue, got chat-z
a default family that does not exist
  -> auth\nalias: { default_family: opus, families: { m: chat-a } }\nmeter\nsettle
  gateway.yaml:8 plugins[1].alias.default_family: expected one of the families (m), got opus
a default family if neither the options nor the catalogue have families
  -> auth\nalias: { default_family: opus }\nmeter\nsettle
  gateway.yaml:8 plugins[1].alias.default_family: expected one of the families (none; set families, since the catalogue has none), got opus
an alias with the id of a model
  -> auth\nalias: { default_family: m, families: { m: chat-a, chat-b: chat-a } }\nmeter\nsettle
  gateway.yaml:8 plugins[1].alias.families.chat-b: expected a name that is not a model id, since the model would always be used instead
an image model that would serve unknown names of chat models
  -> auth\nalias: { default_family: m, families: { m: req/img } }\nmeter\nsettle
  gateway.yaml:8 plugins[1].alias.families.m: expected a chat model, since the default family serves names of chat models
`).map(([name, list, expected]): Row => [name, list, [expected]]),
  [
    "auth last",
    `metrics\nrate-limit\n${ALIAS}\ntranslate\nmeter\nsettle\nauth`,
    [
      `gateway.yaml:8 plugins[1].rate-limit: expected rate-limit after auth, which sets key`,
      `gateway.yaml:11 plugins[4].meter: expected meter after auth, which sets key`,
      `gateway.yaml:12 plugins[5].settle: expected settle after auth, which sets key`,
    ],
  ],
  [
    "a token and no admin",
    `auth\nmeter\nsettle`,
    [
      "gateway.yaml:2 admin.token: expected the plugin admin, which checks this token; add it, or delete the token",
    ],
    { token: true },
  ],
  [
    "unbilled with a plugin that charges",
    `auth\nmeter\nsettle`,
    ["gateway.yaml:3 unbilled: expected no plugin that charges, got settle; delete one of the two"],
    { unbilled: true },
  ],
  [
    "unbilled and without auth on a public address",
    `translate`,
    [
      "gateway.yaml:3 unbilled: expected auth in the list of plugins, or a loopback address as listen.host; without both, everyone who can reach this address can use your upstream keys",
    ],
    { unbilled: true, host: "0.0.0.0" },
  ],
  [
    "unbilled, and a plugin that needs the caller's key",
    `rate-limit`,
    [
      "gateway.yaml:7 plugins[0].rate-limit: expected auth in the list of plugins too; this plugin needs it",
    ],
    { unbilled: true },
  ],
  [
    "demo on a public address, which would give away money",
    `auth\nmeter\nsettle\ndemo`,
    [
      "gateway.yaml:10 plugins[3].demo: expected a loopback address as listen.host, or allow_public: true, since it gives away money and a key",
    ],
    { host: "0.0.0.0" },
  ],
];

const right: readonly (readonly [name: string, list: string, settings?: Settings])[] = [
  ["only auth, meter and settle", `auth\nmeter\nsettle`],
  ["auth by its path only", `${AUTH}\nmeter\nsettle`],
  ["an outside plugin instead of auth", `./knows.js\nrate-limit\nmeter\nsettle`],
  ["an alias without options", `auth\nalias\nmeter\nsettle`],
  ["unbilled with auth on a public address", `auth`, { unbilled: true, host: "0.0.0.0" }],
  ["unbilled without auth on loopback", `translate`, { unbilled: true, host: "::1" }],
  [
    "demo on a public address that allows it",
    `auth\nmeter\nsettle\ndemo: { allow_public: true }`,
    { host: "0.0.0.0" },
  ],
  [
    "the simulator at another loopback address",
    `auth\nmeter\nsettle\nsimulator: { host: 127.0.0.2 }`,
  ],
];

t.test("a list of plugins is refused", async (t) => {
  for (const [name, list, expected, settings = {}] of wrong) {
    t.test(name, async (t) => {
      t.strictSame(await refused(t, files(list, settings)), expected);
    });
  }
});

t.test("a list of plugins is accepted", async (t) => {
  for (const [name, list, settings = {}] of right) {
    t.test(name, async (t) => {
      await accepted(t, files(list, settings));
    });
  }
});

t.test("a built-in plugin has one name, by name or by path", async (t) => {
  const { plugins } = await accepted(t, files(`${AUTH}\nmeter\nsettle`, {}));
  t.equal(plugins[0]?.name, "auth");
});
