import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";
import { type Customer, createCustomer } from "../../support/admin.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { compile, OutsideFolder, readmeBlock } from "../../support/outside.ts";
import { type Answer, bodies, paths, post } from "../../support/requests.ts";
import { startTestSimulator, type TestSimulator } from "../../support/simulator.ts";

const TEAM = readmeBlock("js", "// team.js");
const TSCONFIG = readmeBlock("json", "tollgate/plugin").replace(
  "/opt/tollgate/",
  () => packageRoot,
);
const MODULE = `{ "type": "module" }`;
const runsTypeScript = Boolean(Reflect.get(process.features, "typescript"));

/** The same plugin in TypeScript. */
function typed(): string {
  let text = TEAM;
  for (const [from, to] of [
    ["import { refuse, v }", "import { type Plugin, refuse, type Services, v }"],
    [
      "team(services, { header })",
      "team(services: Services, { header }: v.InferOutput<typeof options>): Plugin",
    ],
    ["new Map()", "new Map<string, number>()"],
  ] as const) {
    assert.ok(text.includes(from), from);
    text = text.replace(from, () => to);
  }
  return text;
}

t.test("the README's plugin, outside of the repository", async (t) => {
  let simulator: TestSimulator;
  let folder: OutsideFolder;
  t.before(async () => {
    simulator = await startTestSimulator();
    folder = new OutsideFolder();
  });
  t.teardown(async () => {
    await simulator?.stop();
    folder?.remove();
  });

  /** Starts a gateway with the plugin, and calls it with and without the header. */
  async function serves(plugin: string): Promise<void> {
    const plugins = { [plugin]: { header: "x-team-name" } };
    const gateway = await startGateway({ simulator, plugins });
    try {
      const customer = await createCustomer(gateway, { creditVnd: 1000 });
      const refused = await call(gateway, customer, {});
      assert.deepEqual(
        [refused.status, refused.json.error.message],
        [400, "the header x-team-name is required"],
      );
      const served = await call(gateway, customer, { "x-team-name": "blue" });
      assert.deepEqual([served.status, served.headers.get("x-team")], [200, "blue"]);
      await gateway.stop();
      assert.match(gateway.logs, /"calls":\{"blue":1\},"msg":"calls by team"/);
      assert.doesNotMatch(gateway.logs, /Warning/);
    } finally {
      await gateway.close();
    }
  }

  t.test("runs unchanged, with no other file", async () => {
    await serves(folder.write("plain/team.js", TEAM));
  });

  t.test("compiles with the README's tsconfig.json, and runs", async (t) => {
    folder.write("typed/package.json", MODULE);
    folder.write("typed/tsconfig.json", TSCONFIG);
    folder.write("typed/team.ts", typed());
    t.equal(await compile(join(folder.path, "typed")), "");
    await serves(join(folder.path, "typed", "team.js"));
  });

  t.test("runs as TypeScript without a compiler, if this Node can", async (t) => {
    folder.write("direct/package.json", MODULE);
    const plugin = folder.write("direct/team.ts", typed());
    const start = serves(plugin);
    if (runsTypeScript) await start;
    else await t.rejects(start, /this Node does not run TypeScript; compile/);
  });

  t.test("compiles against an installed or linked package, with library checks on", async (t) => {
    mkdirSync(join(folder.path, "linked", "node_modules"), { recursive: true });
    symlinkSync(packageRoot, join(folder.path, "linked", "node_modules", "tollgate"));
    folder.write("linked/package.json", MODULE);
    const { compilerOptions } = JSON.parse(TSCONFIG);
    const { paths: _, skipLibCheck: __, ...others } = compilerOptions;
    folder.write("linked/tsconfig.json", JSON.stringify({ compilerOptions: others }));
    folder.write("linked/team.ts", typed());
    t.equal(await compile(join(folder.path, "linked")), "");
  });

  t.test("does not compile if it misuses the contract", async (t) => {
    folder.write("wrong/package.json", MODULE);
    folder.write("wrong/tsconfig.json", TSCONFIG);
    const head = 'import { type Plugin, type PlainRequest, type Services } from "tollgate/plugin";';
    for (const [line, expected] of [
      ["export const p: Plugin = { nam: 'team' };", /'nam' does not exist in type 'Plugin'/],
      ["export const f = (s: Services) => s.wallets.steal();", /'steal' does not exist/],
      ["export const f = (r: PlainRequest) => r.body.nothing;", /'nothing' does not exist/],
    ] as const) {
      folder.write("wrong/team.ts", `${head}\n${line}\n`);
      t.match(await compile(join(folder.path, "wrong")), expected);
    }
  });
});

function call(
  gateway: TestGateway,
  customer: Customer,
  headers: Readonly<Record<string, string>>,
): Promise<Answer> {
  return post(gateway, paths.messages, customer, bodies.messages({ output_tokens: 1 }), headers);
}
