import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { BLOCKS } from "./machine/blocks.ts";

const FOLDER = join(packageRoot, "config", "operating");
const skip =
  process.platform !== "linux" || process.getuid?.() !== 0
    ? "needs root on Linux: it makes a machine of its own"
    : false;

t.test("every command of the handbook is run by a test, or said not to be", async (t) => {
  const pages = readdirSync(FOLDER).filter((file) => file.endsWith(".md"));
  const found = pages.flatMap((page) =>
    Array.from(readFileSync(join(FOLDER, page), "utf8").matchAll(/^```sh (\S+)$/gm), ([, name]) =>
      [page, name].join(" "),
    ),
  );
  t.strictSame(found.sort(), Object.keys(BLOCKS).sort());
  const linked = readFileSync(join(FOLDER, "README.md"), "utf8");
  for (const page of pages) if (page !== "README.md") t.match(linked, `(${page})`);
});

t.test("the handbook leads from an empty machine to a paid call and back", { skip }, async (t) => {
  const inside = join(packageRoot, "dist", "test", "deploy", "machine", "inside.js");
  // Folders, network and processes of its own, which end with the test. The shell is the parent of all that loses its own.
  const own = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
  const parent = ["sh", "-c", '"$@" & wait "$!"', "sh"];
  await t.spawn("unshare", [...own, ...parent, process.execPath, inside], { cwd: packageRoot });
});
