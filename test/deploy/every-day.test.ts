import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { pages } from "../../plugins/console/browser/page-table.ts";
import { INVENTORY } from "../inventory/inventory.ts";

t.test("each question of the day has a page and a command that exist", async (t) => {
  const text = readFileSync(join(packageRoot, "config", "operating", "every-day.md"), "utf8");
  const rows = Array.from(text.matchAll(/^\| (.*) \| `(\/\w*)` \| (.*) \|$/gm));
  t.ok(rows.length >= 27, `${rows.length}`);
  const lines = readFileSync(INVENTORY, "utf8").matchAll(/^command ([a-z -]+?)(?: (-.*|\[.*))?$/gm);
  const commands = Array.from(lines, ([, words = "", options = ""]) => ({ words, options }));
  for (const [, question, page = "", cell = ""] of rows) {
    t.ok(
      pages.some(({ path }) => path === page.replace(/^\/$/, "")),
      `${question}: ${page}`,
    );
    const named = Array.from(cell.matchAll(/`([a-z][a-z-]*(?: [a-z][a-z-]*)*)( --[^`]*)?`/g));
    const found = named.flatMap(([, words, given = ""]) =>
      commands
        .filter((command) => command.words === words)
        .map(({ options }) => ({ options, given })),
    );
    t.ok(found.length > 0, `${question}: ${cell}`);
    for (const { options, given } of found) {
      for (const [option] of given.matchAll(/--[a-z-]+/g)) t.match(options, option, `${question}`);
    }
  }
});
