import t from "tap";
import { circlesIn, importsBetween } from "./imports.ts";

const graph = (arrows: Record<string, string[]>) =>
  new Map(Object.entries(arrows).map(([from, to]) => [from, new Set(to)]));

t.test("circles are the names that reach each other", async (t) => {
  t.strictSame(circlesIn(graph({ a: ["b"], b: ["c"], c: [] })), []);
  const two = graph({ a: ["b"], b: ["c", "d"], c: ["a"], d: ["e"], e: ["d"], f: ["a", "d"] });
  t.strictSame(circlesIn(two).sort(), [
    ["a", "b", "c"],
    ["d", "e"],
  ]);
});

t.test("rooms form a circle even if none of their files does", async (t) => {
  const files = graph({ "x/1": ["y/1"], "y/1": [], "y/2": ["x/2"], "x/2": ["x/1"] });
  t.strictSame(circlesIn(files), []);
  const rooms = importsBetween(files, (file) => file.slice(0, 1));
  t.strictSame(circlesIn(rooms), [["x", "y"]]);
});
