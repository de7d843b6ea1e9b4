import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as v from "valibot";
import {
  chatProfile,
  clampEffort,
  mergeProfiles,
  messagesProfile,
  profile,
} from "../../../core/contract/profile.ts";

describe("profile", () => {
  test("the dialect decides what is not set", () => {
    const strict = chatProfile();
    assert.equal(strict.max_tokens_field, "max_completion_tokens");
    assert.deepEqual([strict.max_stops, strict.tool_id_max], [4, 40]);
    const lax = chatProfile({ dialect: "compatible" });
    assert.equal(lax.max_tokens_field, "max_tokens");
    assert.deepEqual([lax.max_stops, lax.tool_id_max], [null, null]);
    const mixed = chatProfile({ dialect: "compatible", max_stops: 2, tool_id_max: 64 });
    assert.deepEqual([mixed.max_stops, mixed.tool_id_max], [2, 64]);
    assert.equal(chatProfile({ max_stops: null }).max_stops, null);
  });

  test("each side reads only the values it knows", () => {
    assert.equal(chatProfile({ sampling: "one" }).sampling, "full");
    assert.equal(messagesProfile({ sampling: "fixed" }).sampling, "one");
    assert.equal(messagesProfile({ mid_system: "user" }).mid_system, "hoist");
    assert.deepEqual([chatProfile().mid_system, messagesProfile().mid_system], ["inline", "hoist"]);
  });

  test("a route goes before its upstream, key by key", () => {
    const merged = mergeProfiles({ dialect: "compatible", top_k: true }, { top_k: false });
    assert.deepEqual(merged, { dialect: "compatible", top_k: false });
    assert.deepEqual(mergeProfiles(), {});
  });

  test("effort levels may be listed in any order", () => {
    const levels = messagesProfile({ effort_levels: ["max", "low"] }).effort_levels;
    assert.deepEqual(levels, ["low", "max"]);
    assert.equal(clampEffort("xhigh", levels), "low");
    assert.equal(clampEffort("minimal", levels), "low");
    assert.equal(clampEffort("max", levels), "max");
  });

  test("the config takes the keys of both sides and no others", () => {
    assert.ok(v.is(profile, {}));
    assert.ok(v.is(profile, { dialect: "compatible", thinking: "budget", max_stops: null }));
    for (const wrong of [
      { dialects: "openai" },
      { dialect: "azure" },
      { effort_levels: [] },
      { max_output_tokens: 0 },
      { tool_name_max: 8 },
      { tool_id_max: 36 },
    ]) {
      assert.ok(!v.is(profile, wrong), JSON.stringify(wrong));
    }
  });
});
