import t from "tap";
import { matchesModel } from "../../../core/catalogue/model-pattern.ts";

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
  for (const [pattern, yes, no] of table) {
    for (const id of yes.split(" ")) t.ok(matchesModel(pattern, id), `${pattern} ${id}`);
    for (const id of no.split(" ").filter(Boolean))
      t.notOk(matchesModel(pattern, id), `${pattern} ${id}`);
  }
});
