import t from "tap";
import type { Profile } from "../../../core/catalogue/profile.ts";
import { familyOverhead, Overheads } from "../../../plugins/meter/families.ts";
import { modelOf } from "../../support/plugin-desk.ts";

const image = (most: number) => ({ base: most, side: most, tile_milli: most, most });
const all = (value: number) => ({
  ...{ text_percent: value, request: value, tools: value, built_in_tool: value, schema: value },
  ...{ page: value, page_text: value, image: image(value), audio_second: value },
});

/** The overhead of a model with routes of these profiles, of which an upstream may state a part. */
function overheadOf(routes: readonly [upstream: string, model: string, profile: Profile][]) {
  const profiles: Record<string, Profile> = { stating: { overhead_tokens: { request: 7 } } };
  const upstreams = { get: (name: string) => ({ config: { profile: profiles[name] } }) };
  const made = routes.map(([upstream, model, profile]) => ({ upstream, model, profile }));
  return new Overheads({ upstreams: upstreams as never }).of(modelOf({ routes: made as never }));
}

t.test("the overhead of a model is the largest of its routes, number by number", async (t) => {
  const low: Profile = { overhead_tokens: all(1) };
  const high: Profile = { overhead_tokens: all(2) };
  for (const pair of [
    [low, high],
    [high, low],
  ]) {
    const routes = pair.map((profile) => ["u", "m", profile] as [string, string, Profile]);
    t.strictSame(overheadOf(routes), all(2));
  }
  for (const name of Object.keys(all(1))) {
    const more = { overhead_tokens: { ...all(3), [name]: name === "image" ? image(9) : 9 } };
    const mixed = overheadOf([
      ["u", "m", more],
      ["u", "m", { overhead_tokens: all(4) }],
    ]);
    t.strictSame(mixed, { ...all(4), [name]: name === "image" ? image(9) : 9 }, name);
  }
});

t.test("a stated number counts over that of the family", async (t) => {
  const claude = familyOverhead("claude-opus-5-5");
  t.strictSame(overheadOf([["u", "Claude-Opus-5-5", {}]]), claude);
  const stated = { overhead_tokens: { tools: 5, schema: undefined } as never };
  t.strictSame(overheadOf([["u", "claude-opus-5-5", stated]]), { ...claude, tools: 5 });
  t.strictSame(overheadOf([["stating", "claude-opus-5-5", {}]]), { ...claude, request: 7 });
  const own: Profile = { overhead_tokens: { request: 8 } };
  t.equal(overheadOf([["stating", "claude-opus-5-5", own]]).request, 8, "the route's own first");
});

t.test("a model without a route has the overhead of an unknown family", async (t) => {
  t.strictSame(overheadOf([]), familyOverhead("a model of no known family"));
});
