import t from "tap";
import * as v from "valibot";
import { mergeProfiles, profile } from "../../../core/catalogue/profile.ts";
import { ascending, chatProfile, clampEffort } from "../../../plugins/translate/profile.ts";

t.test("profile", async (t) => {
  t.test("the dialect sets the defaults", async (t) => {
    const strict = chatProfile();
    t.equal(strict.max_tokens_field, "max_completion_tokens");
    t.equal(strict.mid_system, "inline");
    t.strictSame([strict.max_stops, strict.tool_id_max], [4, 40]);
    const lax = chatProfile({ dialect: "compatible" });
    t.equal(lax.max_tokens_field, "max_tokens");
    t.strictSame([lax.max_stops, lax.tool_id_max], [null, null]);
    const mixed = chatProfile({ dialect: "compatible", max_stops: 2, tool_id_max: 64 });
    t.strictSame([mixed.max_stops, mixed.tool_id_max], [2, 64]);
    t.equal(chatProfile({ max_stops: null }).max_stops, null);
  });

  t.test("a route overrides its upstream, key by key", async (t) => {
    const merged = mergeProfiles({ dialect: "compatible", top_k: true }, { top_k: false });
    t.strictSame(merged, { dialect: "compatible", top_k: false });
    t.strictSame(mergeProfiles(), {});
  });

  t.test("effort levels may be in any order", async (t) => {
    const levels = ascending(["max", "low"]);
    t.strictSame(levels, ["low", "max"]);
    t.equal(clampEffort("xhigh", levels), "low");
    t.equal(clampEffort("minimal", levels), "low");
    t.equal(clampEffort("max", levels), "max");
  });

  t.test("the config accepts the keys of both sides and no others", async (t) => {
    t.ok(v.is(profile, {}));
    t.ok(v.is(profile, { dialect: "compatible", thinking: "budget", max_stops: null }));
    for (const wrong of [
      { dialects: "openai" },
      { dialect: "azure" },
      { effort_levels: [] },
      { max_output_tokens: 0 },
      { tool_name_max: 8 },
      { tool_id_max: 36 },
    ]) {
      t.ok(!v.is(profile, wrong), JSON.stringify(wrong));
    }
  });
});
