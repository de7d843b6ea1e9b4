import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";
import { createCustomer } from "../../support/admin.ts";
import { startGateway } from "../../support/gateway.ts";
import { OutsideFolder } from "../../support/outside.ts";
import { bodies, paths, post } from "../../support/requests.ts";

const run = promisify(execFile);

t.test("the package, installed as a dependency", async (t) => {
  const folder = new OutsideFolder();
  t.teardown(() => folder.remove());
  const where = ["--ignore-scripts", "--pack-destination", folder.path];
  await run("npm", ["pack", ...where], { cwd: packageRoot });
  const [archive = ""] = readdirSync(folder.path);
  const root = join(folder.path, "node_modules", "tollgate");
  mkdirSync(root, { recursive: true });
  const tar = ["-xzf", join(folder.path, archive), "-C", root, "--strip-components=1"];
  await run("tar", tar);
  // Does what npm does then; links only its declared dependencies.
  const { dependencies, bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  for (const file of Object.values<string>(bin)) chmodSync(join(root, file), 0o755);
  for (const name of Object.keys(dependencies)) {
    const link = join(folder.path, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(packageRoot, "node_modules", name), link);
  }

  const filesBelow = (place: string, wanted: RegExp) =>
    readdirSync(place, { recursive: true, encoding: "utf8" })
      .filter((file) => wanted.test(file))
      .sort();

  t.test("has every file read at run time, and no test, benchmark or source", async (t) => {
    for (const place of ["core", "plugins"]) {
      // The pictures of READMEs stay in the repository.
      const read = /^(?!.*\bpictures\/).*\.(?:sql|lua|css|svg)$/;
      const here = filesBelow(join(packageRoot, place), read);
      t.ok(here.length > 5);
      t.strictSame(filesBelow(join(root, place), read), here);
    }
    t.strictSame(readdirSync(join(root, "dist")).sort(), ["core", "plugins"]);
    t.strictSame(filesBelow(root, /(?<!\.d)\.ts$|\.map$|\.test\./), []);
  });

  t.test("has the pages that its pages link to, but those of the repository's tests", async (t) => {
    const pages = filesBelow(root, /\.md$/);
    const missing = pages.flatMap((page) =>
      Array.from(readFileSync(join(root, page), "utf8").matchAll(/\]\(([^)#:]+\.md)[)#]/g))
        .map(([, to = ""]) => join(dirname(page), to))
        .filter((to) => !/^(?:test|bench)\//.test(to) && !existsSync(join(root, to)))
        .map((to) => `${page}: ${to}`),
    );
    t.ok(pages.length > 20);
    t.strictSame(missing, []);
  });

  t.test("runs by its own commands, and names them", async (t) => {
    const { version, bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const command = (name: string, ...args: string[]) => run(join(root, bin[name]), args);
    t.equal((await command("tollgate", "--version")).stdout.trim(), version);
    t.match(
      (await command("tollgate-admin", "wallet", "--help")).stdout,
      "npx tollgate-admin wallet",
    );
    const url = ["--url", "http://127.0.0.1:9", "--token", "t"];
    const fault = await t.rejects(command("tollgate-admin", "doctor", ...url));
    t.match(fault, { stderr: /start the gateway with npx tollgate,/ });
  });

  t.test("serves a call, a page and a plugin that imports it", async (t) => {
    const plugin = folder.write(
      "team.js",
      `import { refuse } from "tollgate/plugin";
      export default () => ({ name: "team", admit: (call) => call.headers["x-team"] ? undefined : refuse.forbidden("no team") });`,
    );
    const plugins = { [plugin]: true } as const;
    const gateway = await startGateway({ root, plugins });
    try {
      const customer = await createCustomer(gateway, { creditVnd: 1000 });
      const body = bodies.messages({ output_tokens: 1 });
      t.equal((await post(gateway, paths.messages, customer, body)).status, 403);
      const headers = { "x-team": "blue" };
      t.equal((await post(gateway, paths.messages, customer, body, headers)).status, 200);
      const page = await fetch(`${gateway.url}/dashboard/`);
      t.equal(page.status, 200);
      t.match(await page.text(), /<script[^>]*main\.js/);
    } finally {
      await gateway.close();
    }
  });
});
