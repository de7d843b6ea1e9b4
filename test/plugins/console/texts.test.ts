import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";
import { text as english } from "../../../plugins/console/browser/text-en.ts";
import { text as vietnamese } from "../../../plugins/console/browser/text-vi.ts";

const sources = ["plugins/console/browser", "plugins/page-parts"]
  .flatMap((place) =>
    readdirSync(join(packageRoot, place), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !/(?:^|\/)text-/.test(name))
      .map((name) => readFileSync(join(packageRoot, place, name), "utf8")),
  )
  .join("\n");

t.test("the texts of the console", async (t) => {
  const keys = Object.keys(english);
  const inVietnamese = new Map(Object.entries(vietnamese));

  t.test("are the same in both languages, with the same placeholders", async (t) => {
    t.ok(keys.length > 200, `${keys.length} texts`);
    t.strictSame([...inVietnamese.keys()].sort(), [...keys].sort());
    const places = (text: string) => (text.match(/\{\w+(?=[}:])/g) ?? []).map(String);
    const unique = (text: string) => [...new Set(places(text))].sort();
    for (const [key, text] of Object.entries(english)) {
      const other = inVietnamese.get(key) ?? "";
      t.ok(text.trim() !== "" && other.trim() !== "", key);
      t.strictSame(unique(other), unique(text), key);
    }
  });

  t.test("are in Vietnamese in the Vietnamese file", async (t) => {
    const same = Object.entries(english).filter(([key, text]) => inVietnamese.get(key) === text);
    t.ok(same.length < 10, same.join("\n"));
  });

  t.test("say why a change was refused, by the code of its refusal", async (t) => {
    const codes = [
      ...["plugins/operators/approvals.ts", "plugins/operators/routes.ts"],
      ...["plugins/topup/transfer-routes.ts", "plugins/accounts/operator-routes.ts"],
      ...["plugins/admin/money.ts", "plugins/admin/accounts.ts"],
      "core/money/correction-json.ts",
    ].flatMap((file) => {
      const source = readFileSync(join(packageRoot, file), "utf8");
      return [...source.matchAll(/\bcode: "(\w+)"/g)].map((match) => match[1] ?? "");
    });
    t.ok(codes.length > 10);
    // A form waits for a second person, and says the amounts of the others.
    const others = ["approval_needed", "above_cause", "corrected_before"];
    const silent = codes.filter(
      (code) => !others.includes(code) && !keys.includes(`error.${code}`),
    );
    t.strictSame([...new Set(silent)], []);
  });

  t.test("choose between one and many wherever a number stands before a word", async (t) => {
    const counted = Object.entries(english).filter(([, text]) => /\{count\} [a-z]/.test(text));
    t.strictSame(counted, []);
  });

  t.test("are all used", async (t) => {
    // A key may be built from parts: `transfer.${state}`.
    const families = [...sources.matchAll(/[`"]([\w.]+\.)\$\{/g)].map((match) => match[1] ?? "");
    t.ok(families.length > 5, families.join());
    const unused = keys.filter((key) => {
      return !sources.includes(`"${key}"`) && !families.some((family) => key.startsWith(family));
    });
    t.strictSame(unused, []);
  });
});
