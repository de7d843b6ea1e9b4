import { readFileSync } from "node:fs";
import t from "tap";
import { INVENTORY, inventory } from "./inventory.ts";

t.test("the inventory lists all that the product offers", async (t) => {
  const now = (await inventory()).split("\n");
  const kinds = new Set(now.map((line) => line.split(" ")[0]));
  t.strictSame(
    [...kinds].filter((kind) => kind !== ""),
    [...["alert", "command", "header", "metric", "plugin", "program", "route"]],
  );
  const listed = readFileSync(INVENTORY, "utf8").split("\n");
  const missing = now.filter((line) => !listed.includes(line));
  const gone = listed.filter((line) => !now.includes(line));
  const advice = "run `npm run inventory`, and check in its diff that nothing goes by oversight";
  t.strictSame({ missing, gone }, { missing: [], gone: [] }, advice);
});
