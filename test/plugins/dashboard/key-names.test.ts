import t from "tap";
import type { Key, Member } from "../../../plugins/dashboard/browser/contract.ts";
import { keyNames } from "../../../plugins/dashboard/browser/key-names.ts";

t.test("no two keys of the chart have one name", async (t) => {
  const key = (id: string, name: string, member: string | null = null) =>
    ({ id, name, member, prefix: `tg-${id}` }) as Key;
  const member = (id: string, email: string) => ({ id, email }) as Member;
  const keys = [
    key("a", "First key"),
    key("b", "First key"),
    key("c", "server"),
    key("d", "First key", "m"),
    key("e", "server", "left"),
  ];
  t.strictSame(
    [...keyNames(keys, [member("m", "an@example.com")])],
    [
      ["a", "First key (tg-a)"],
      ["b", "First key (tg-b)"],
      ["c", "server (tg-c)"],
      ["d", "First key · an@example.com"],
      ["e", "server (tg-e)"],
    ],
  );
});
