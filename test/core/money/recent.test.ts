import t from "tap";
import { RecentCalls } from "../../../core/money/recent.ts";

const POSTED = { chargedMicroVnd: 1, writtenOffMicroVnd: 0, duplicate: false };

t.test("uncommitted calls are never forgotten, others are after a while", async (t) => {
  const recent = new RecentCalls(10);
  for (let position = 1; position <= 100; position += 1) {
    recent.add(`c${position}`, POSTED, position, 0);
  }
  for (let position = 1; position <= 100; position += 1) {
    t.ok(recent.get(`c${position}`), `call ${position} waits for the ledger`);
  }
  // The first half is committed and may be forgotten; the other half must be remembered.
  for (let position = 101; position <= 130; position += 1) {
    recent.add(`c${position}`, POSTED, position, 50);
  }
  for (let position = 51; position <= 130; position += 1) t.ok(recent.get(`c${position}`));
  for (let position = 131; position <= 160; position += 1) {
    recent.add(`c${position}`, POSTED, position, position - 1);
  }
  t.equal(recent.get("c1"), undefined);
  for (let position = 151; position <= 160; position += 1) t.ok(recent.get(`c${position}`));
});
