import assert from "node:assert/strict";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { Journal, type JournalOptions } from "../../../../core/money/journal/journal.ts";
import { MissingRecords } from "../../../../core/money/journal/recovery.ts";
import { DamagedSegment, LINE_FRAME_BYTES } from "../../../../core/money/journal/segment.ts";
import { JournalFull } from "../../../../core/money/journal/writer.ts";
import { FolderInUse } from "../../../../core/process/lock.ts";
import { recordedLog } from "../../../support/log.ts";
import { acknowledge } from "./acknowledge.ts";

let folder: string;
let logged: ReturnType<typeof recordedLog>;

t.beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "tollgate-journal-")), "journal");
  logged = recordedLog();
});

t.afterEach(() => rmSync(join(folder, ".."), { recursive: true, force: true }));

function open(options: Partial<JournalOptions> = {}): Promise<Journal> {
  return Journal.open({ folder, bytesMax: 100_000, sync: false, log: logged.log, ...options });
}

/** Appends six records, each once the one before is on the disk. Two make a segment of 40 bytes. */
async function appendSix(journal: Journal): Promise<void> {
  for (let n = 1; n <= 6; n += 1) await journal.whenSynced(journal.appendAll([`{"record":${n}}`]));
}

function segments(): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".journal"))
    .sort();
}

function payloads(journal: Journal): string[] {
  return journal.recovered.map((record) => record.payload);
}

/** Segments of about two records each, so that a few appends make several. */
async function severalSegments(): Promise<string[]> {
  const journal = await open({ segmentBytes: 40 });
  await appendSix(journal);
  await journal.close();
  const names = segments();
  assert.ok(names.length >= 3);
  return names.map((name) => join(folder, name));
}

t.test("appended records are recovered in order", async (t) => {
  const journal = await open();
  t.equal(journal.appendAll(['{"a":1}']), 1);
  t.equal(journal.appendAll(['{"b":"đồng 💰"}']), 2);
  await journal.close();
  const again = await open();
  t.strictSame(again.recovered, [
    { position: 1, payload: '{"a":1}' },
    { position: 2, payload: '{"b":"đồng 💰"}' },
  ]);
  t.equal(again.appendAll(["{}"]), 3);
  await again.close();
});

t.test("other users cannot read it", async (t) => {
  const journal = await open();
  journal.appendAll(["{}"]);
  t.equal(statSync(folder).mode & 0o777, 0o700);
  t.equal(statSync(join(folder, segments()[0]!)).mode & 0o777, 0o600);
  await journal.close();
});

t.test("a record of the maximum size is taken, and of a byte more refused", async (t) => {
  const journal = await open({ bytesMax: 1_000_000 });
  const most = 64 * 1_024 - LINE_FRAME_BYTES;
  t.equal(journal.appendAll(["x".repeat(most)]), 1);
  assert.throws(() => journal.appendAll(["x".repeat(most + 1)]), JournalFull);
  assert.throws(() => journal.appendAll(["ờ".repeat(most / 3 + 1)]), JournalFull);
  await journal.close();
});

t.test("records appended together are kept all or not at all", async (t) => {
  const journal = await open({ bytesMax: 1_000_000 });
  const many = Array.from(
    { length: 3_000 },
    (_, at) => `{"record":${at},"text":"${"ờ".repeat(50)}"}`,
  );
  t.equal(journal.appendAll(many), 1);
  const tooLong = [...many, `"${"x".repeat(70_000)}"`];
  assert.throws(() => journal.appendAll(tooLong), JournalFull);
  t.throws(() => journal.appendAll([...many, ...many]), /full/);
  t.equal(journal.appendAll(["{}"]), 3_001);
  await journal.close();
  const again = await open({ bytesMax: 1_000_000 });
  t.strictSame(payloads(again), [...many, "{}"]);
  await again.close();
});

t.test("a last record torn at any byte is cut off, and the records before it stay", async (t) => {
  const journal = await open();
  journal.appendAll(['{"record":1}']);
  journal.appendAll(['{"record":2}']);
  await journal.close();
  const path = join(folder, segments()[0]!);
  const whole = readFileSync(path);
  const first = whole.indexOf("\n") + 1;
  for (let length = first + 1; length < whole.length; length += 1) {
    writeFileSync(path, whole.subarray(0, length));
    const again = await open();
    t.strictSame(payloads(again), ['{"record":1}'], `cut to ${length} bytes`);
    t.equal(again.appendAll(['{"record":"new"}']), 2);
    await again.close();
    for (const name of segments()) rmSync(join(folder, name));
    t.match(logged.lines.at(-1), { bytes: length - first, msg: /half written/ });
  }
});

t.test("zeros after the last record, as left by a loss of power, are cut off", async (t) => {
  const journal = await open();
  journal.appendAll(['{"record":1}']);
  await journal.close();
  appendFileSync(join(folder, segments()[0]!), Buffer.alloc(4_096));
  const again = await open();
  t.strictSame(payloads(again), ['{"record":1}']);
  await again.close();
});

t.test("every damaged byte in the middle stops the start", async (t) => {
  const journal = await open();
  for (let n = 1; n <= 3; n += 1) journal.appendAll([`{"record":${n}}`]);
  await journal.close();
  const path = join(folder, segments()[0]!);
  const whole = readFileSync(path);
  const end = whole.indexOf("\n", whole.indexOf("\n") + 1);
  for (let at = 0; at <= end; at += 1) {
    const damaged = Buffer.from(whole);
    damaged[at] = damaged[at]! ^ 0x01;
    writeFileSync(path, damaged);
    await assert.rejects(open(), DamagedSegment, `byte ${at}`);
  }
  await assert.rejects(open(), /is damaged at byte \d+, after record 1\. It holds/);
  writeFileSync(path, whole);
  const again = await open();
  t.equal(again.recovered.length, 3);
  await again.close();
});

t.test("a torn end anywhere but in the newest segment stops the start", async () => {
  const [first] = await severalSegments();
  truncateSync(first!, statSync(first!).size - 1);
  await assert.rejects(open(), (error) => {
    return error instanceof DamagedSegment && error.message.includes(`${first}.damaged`);
  });
});

t.test("a torn end does not matter if the next segment goes on from there", async (t) => {
  const [first] = await severalSegments();
  appendFileSync(first!, "half a li");
  const again = await open();
  t.equal(again.recovered.length, 6);
  await again.close();
});

t.test("a missing segment stops the start", async () => {
  const [, second] = await severalSegments();
  rmSync(second!);
  await assert.rejects(open(), MissingRecords);
  await assert.rejects(open(), /jumps from record 2 to record 5:/);
});

t.test("the operator can set a damaged segment aside, or declare a missing one lost", async (t) => {
  const [, second] = await severalSegments();
  writeFileSync(second!, "not a journal\n");
  await assert.rejects(open(), DamagedSegment);
  renameSync(second!, `${second}.damaged`);
  const again = await open();
  const positions = again.recovered.map((record) => record.position);
  t.strictSame([positions[0], positions.at(-1)], [1, 6]);
  t.ok(positions.length < 6);
  t.match(JSON.stringify(logged.lines), /set aside as damaged/);
  await again.close();
  rmSync(`${second}.damaged`);
  const message = await open().then(
    () => "started",
    (error: Error) => error.message,
  );
  const name = /create an empty file (\S+) there/.exec(message)?.[1];
  writeFileSync(join(folder, name!), "");
  const last = await open();
  for (const { position } of last.recovered) last.acknowledge(position);
  await last.close();
  t.strictSame(
    segments().filter((path) => path.endsWith(".journal")),
    [],
    "none waits for the records of the gap",
  );
});

t.test("a second process on the folder is refused", async () => {
  const journal = await open();
  await assert.rejects(open({ lockWaitMs: 100 }), (error) => {
    return error instanceof FolderInUse && error.message.includes(`process ${process.pid}`);
  });
  await journal.close();
  await (await open()).close();
});

t.test("a closed journal refuses", async (t) => {
  const journal = await open({ sync: true });
  journal.appendAll(["{}"]);
  await journal.close();
  t.throws(() => journal.appendAll(["{}"]), /closed/);
});

t.test(
  "a segment that cannot be deleted stops no acknowledgement, and is deleted later",
  async (t) => {
    const journal = await open({ segmentBytes: 40 });
    await appendSix(journal);
    const [first = ""] = segments();
    const [path, aside] = [join(folder, first), join(folder, "aside")];
    renameSync(path, aside);
    mkdirSync(path);
    acknowledge(journal, 1, 5);
    t.match(logged.lines.at(-1), { msg: /cannot delete a segment/ });
    const kept = journal.bytes;
    rmdirSync(path);
    renameSync(aside, path);
    acknowledge(journal, 6, 6);
    t.ok(journal.bytes < kept);
    t.notOk(segments().includes(first));
    await journal.close();
  },
);

t.test("a segment that is already gone stops no acknowledgement", async (t) => {
  const journal = await open({ segmentBytes: 40 });
  await appendSix(journal);
  const [first = ""] = segments();
  rmSync(join(folder, first));
  acknowledge(journal, 1, 6);
  t.equal(segments().length, 1);
  await journal.close();
});
