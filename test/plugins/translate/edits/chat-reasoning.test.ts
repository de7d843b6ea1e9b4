import t from "tap";
import type { Profile } from "../../../../core/catalogue/profile.ts";
import { edited } from "../../../../plugins/translate/edits/index.ts";

const GLM: Profile = {
  reasoning: "thinking+effort",
  thinking_default: "on",
  thinking_off: "disabled",
};
const KIMI: Profile = { reasoning: "thinking", thinking_default: "on", thinking_off: "disabled" };
const OFF_BY_DEFAULT: Profile = { reasoning: "thinking", thinking_default: "off" };

t.test("fields of a maker beside the switch of thinking stay", async (t) => {
  for (const [what, profile, thinking, expected, dropped] of [
    ["GLM's", GLM, { type: "enabled", clear_thinking: false }, "same", []],
    ["GLM's, without a type", GLM, { clear_thinking: false }, "same", []],
    ["GLM's, switched off", GLM, { type: "disabled", clear_thinking: false }, "same", []],
    ["Kimi's", KIMI, { type: "enabled", keep: "all" }, "same", []],
    [
      "a form that only Claude has",
      KIMI,
      { type: "adaptive", keep: "all" },
      { type: "enabled", keep: "all" },
      [],
    ],
    ["nothing beside it", KIMI, { type: "adaptive" }, undefined, []],
    ["a switch that is needed", OFF_BY_DEFAULT, { type: "adaptive" }, { type: "enabled" }, []],
    [
      "a budget",
      GLM,
      { type: "enabled", budget_tokens: 2048, clear_thinking: true },
      { type: "enabled", clear_thinking: true },
      ["thinking.budget_tokens"],
    ],
  ] as const) {
    const body = { messages: [{ role: "user", content: "hello" }], thinking };
    const made = edited(body, "chat", profile);
    if (!made.ok) return t.fail(made.reject.message);
    if (expected === "same") t.equal(made.body, body, what);
    else t.strictSame(made.body["thinking"], expected, what);
    t.strictSame(made.dropped, dropped, what);
  }
});
