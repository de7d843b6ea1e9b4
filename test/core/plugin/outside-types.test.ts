import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";
import {
  compile,
  MODULE,
  OutsideFolder,
  TSCONFIG,
  typedTeam,
  VENDOR,
} from "../../support/outside.ts";

t.test("the types of the contract, outside of the repository", async (t) => {
  const folder = new OutsideFolder();
  t.teardown(() => folder.remove());

  t.test("compile a kind of upstream, and refuse one that lacks a function", async (t) => {
    folder.write("typed-kind/package.json", MODULE);
    folder.write("typed-kind/tsconfig.json", TSCONFIG);
    const kind = VENDOR.replace("import { v }", "import { type UpstreamKind, v }")
      .replace("settings: {", "settings,\n  // {")
      .replace(
        "export const upstreamKind = {",
        "const settings = { address: v.string(), secret: v.string() };\n\nexport const upstreamKind: UpstreamKind<typeof settings> = {",
      );
    folder.write("typed-kind/vendor.ts", kind);
    folder.write("typed-kind/wrong.ts", kind.replace("describe:", "described:"));
    const output = await compile(join(folder.path, "typed-kind"));
    t.match(output, /wrong\.ts.*'describe' is missing in type/);
    t.notMatch(output, /vendor\.ts/);
  });

  t.test("compile against an installed or linked package, with library checks on", async (t) => {
    mkdirSync(join(folder.path, "linked", "node_modules"), { recursive: true });
    symlinkSync(packageRoot, join(folder.path, "linked", "node_modules", "tollgate"));
    folder.write("linked/package.json", MODULE);
    const { compilerOptions } = JSON.parse(TSCONFIG);
    const { paths: _, skipLibCheck: __, ...others } = compilerOptions;
    folder.write("linked/tsconfig.json", JSON.stringify({ compilerOptions: others }));
    folder.write("linked/team.ts", typedTeam());
    t.equal(await compile(join(folder.path, "linked")), "");
  });

  t.test("do not compile what misuses the contract", async (t) => {
    folder.write("wrong/package.json", MODULE);
    folder.write("wrong/tsconfig.json", TSCONFIG);
    const head = 'import { type Plugin, type PlainRequest, type Services } from "tollgate/plugin";';
    const lines = [
      ["export const p: Plugin = { nam: 'team' };", /'nam' does not exist in type 'Plugin'/],
      ["export const f = (s: Services) => s.wallets.current.steal();", /'steal' does not exist/],
      ["export const g = (r: PlainRequest) => r.body.nothing;", /'nothing' does not exist/],
    ] as const;
    folder.write("wrong/team.ts", [head, ...lines.map(([line]) => line)].join("\n"));
    const output = await compile(join(folder.path, "wrong"));
    for (const [, expected] of lines) t.match(output, expected);
  });
});
