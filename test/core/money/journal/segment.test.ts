import t from "tap";
import { segmentName } from "../../../../core/money/journal/recovery.ts";
import { readSegment, writeLine } from "../../../../core/money/journal/segment.ts";
import type { Disk } from "../../../../core/process/disk.ts";

/** Returns what a file of these lines holds. Their checksums are right. */
function read(lines: readonly (readonly [position: number, payload: string])[]) {
  const bytes = Buffer.alloc(1_024);
  let end = 0;
  for (const [position, payload] of lines) end = writeLine(bytes, end, position, payload);
  const disk = { read: () => bytes.subarray(0, end) } as unknown as Disk;
  return readSegment(disk, "a.journal");
}

t.test("a line is sound only if its position is a whole number from 1", async (t) => {
  for (const position of [1, 7, 2 ** 53 - 1]) {
    t.strictSame(read([[position, "call"]]).records, [{ position, payload: "call" }]);
  }
  for (const position of [0, -1, 1.5, 2 ** 53, Number.NaN]) {
    t.match(read([[position, "call"]]), { records: [], soundBytes: 0, isDamaged: true });
  }
});

t.test("positions rise by one from line to line", async (t) => {
  t.equal(
    read([
      [7, "a"],
      [8, "b"],
      [9, "đ c"],
    ]).records.length,
    3,
  );
  for (const next of [6, 7, 9]) {
    const found = read([
      [7, "a"],
      [next, "b"],
    ]);
    t.match(found, { records: [{ position: 7 }], isDamaged: true });
    t.equal(found.records.length, 1);
  }
});

t.test(
  "the names of segments sort by their positions, and copies in the order they were made",
  async (t) => {
    const names = [
      segmentName(9),
      ...[1, 2, 10].map((copy) => segmentName(9, copy)),
      segmentName(10),
    ];
    t.strictSame([...names].sort(), [...names.slice(0, 4), names[4]]);
  },
);
