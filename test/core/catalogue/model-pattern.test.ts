import t from "tap";
import { matchesModel } from "../../../core/catalogue/model-pattern.ts";
import { allowsModel } from "../../../plugins/page-parts/browser/key-limits.ts";

/** The pages have their own, as browsers load nothing of the core. */
const inPages = (pattern: string, id: string) => allowsModel({ models: [pattern] }, id);

t.test("a pattern of models", async (t) => {
  const table: [pattern: string, yes: string, no: string][] = [
    ["gpt-5", "gpt-5", "gpt-5-mini x-gpt-5 GPT-5"],
    ["gpt-5*", "gpt-5 gpt-5-mini gpt-5*", "gpt-4 req/gpt-5"],
    ["*-mini", "gpt-5-mini -mini", "gpt-5-mini-x mini"],
    ["req/*-5", "req/gpt-5 req/-5", "gpt-5 req/5"],
    ["a*b*c", "abc axbxc abbcc aXbXbXc", "ab acb bac aabb"],
    ["*", "a gpt-5", ""],
    ["**", "a", ""],
    ["ab*ba", "abba abxba", "aba"],
    ["a.c", "a.c", "abc"],
  ];
  for (const matches of [matchesModel, inPages]) {
    for (const [pattern, yes, no] of table) {
      for (const id of yes.split(" ")) t.ok(matches(pattern, id), `${pattern} ${id}`);
      for (const id of no.split(" ").filter(Boolean))
        t.notOk(matches(pattern, id), `${pattern} ${id}`);
    }
    const begun = performance.now();
    t.notOk(matches(`${"*a".repeat(40)}b`, "a".repeat(60)));
    t.ok(performance.now() - begun < 1_000, "takes linear time");
  }
});
