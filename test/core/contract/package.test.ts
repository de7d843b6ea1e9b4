import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { packageRoot } from "../../../core/process/root.ts";
import { createCustomer } from "../../support/admin.ts";
import { startGateway } from "../../support/gateway.ts";
import { OutsideFolder } from "../../support/outside.ts";
import { bodies, paths, post } from "../../support/requests.ts";

const run = promisify(execFile);

describe("the package, as it is installed as a dependency", () => {
  let folder: OutsideFolder;
  let root: string;
  before(async () => {
    folder = new OutsideFolder();
    const where = ["--ignore-scripts", "--pack-destination", folder.path];
    await run("npm", ["pack", ...where], { cwd: packageRoot });
    const [archive = ""] = readdirSync(folder.path);
    root = join(folder.path, "node_modules", "tollgate");
    mkdirSync(root, { recursive: true });
    const tar = ["-xzf", join(folder.path, archive), "-C", root, "--strip-components=1"];
    await run("tar", tar);
    // Only what it depends on by its own word.
    const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    for (const name of Object.keys(dependencies)) {
      const link = join(folder.path, "node_modules", name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(packageRoot, "node_modules", name), link);
    }
  });
  after(() => folder?.remove());

  const filesBelow = (place: string, wanted: RegExp) =>
    readdirSync(place, { recursive: true, encoding: "utf8" })
      .filter((file) => wanted.test(file))
      .sort();

  it("has all that is read at run time, and no test, benchmark or source", () => {
    for (const place of ["core", "plugins"]) {
      const read = /\.(?:sql|lua|css|svg)$/;
      const here = filesBelow(join(packageRoot, place), read);
      assert.ok(here.length > 5);
      assert.deepEqual(filesBelow(join(root, place), read), here);
    }
    assert.deepEqual(readdirSync(join(root, "dist")).sort(), ["core", "plugins"]);
    assert.deepEqual(filesBelow(root, /(?<!\.d)\.ts$|\.map$|\.test\./), []);
  });

  it("serves a call, a page and a plugin that imports it", async () => {
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
      assert.equal((await post(gateway, paths.messages, customer, body)).status, 403);
      const headers = { "x-team": "blue" };
      assert.equal((await post(gateway, paths.messages, customer, body, headers)).status, 200);
      const page = await fetch(`${gateway.url}/dashboard/`);
      assert.equal(page.status, 200);
      assert.match(await page.text(), /<script[^>]*main\.js/);
    } finally {
      await gateway.close();
    }
  });
});
