import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { newId } from "../../../core/process/id.ts";
import { Sealer } from "../../../plugins/accounts/sealing/sealer.ts";

const master = (id: string) => ({ id, key: randomBytes(32) });

function sealerOf(...keys: { id: string; key: Buffer }[]): Sealer {
  const sealer = new Sealer();
  sealer.use(keys);
  return sealer;
}

describe("sealed keys", () => {
  const [one, two] = [master("one"), master("two")];
  const [keyId, accountId, secret] = [newId(1), newId(2), "tg-some-secret"];
  const sealer = sealerOf(one);
  const record = { keyId, accountId, ...sealer.seal(keyId, accountId, secret) };

  it("open to what was sealed, and look different each time", () => {
    assert.equal(sealer.open(record), secret);
    const again = sealer.seal(keyId, accountId, secret);
    assert.notDeepEqual(again.sealed, record.sealed);
    assert.ok(!Buffer.from(record.sealed).includes(secret));
  });

  it("open by an older master key, and are sealed by the newest", () => {
    const rotated = sealerOf(two, one);
    assert.equal(rotated.open(record), secret);
    assert.equal(rotated.seal(keyId, accountId, secret).sealedBy, "two");
  });

  it("do not open in another record", () => {
    assert.equal(sealer.open({ ...record, keyId: newId(3) }), undefined);
    assert.equal(sealer.open({ ...record, accountId: newId(3) }), undefined);
  });

  it("do not open by another master key, whatever its name", () => {
    assert.equal(sealerOf(two).open(record), undefined);
    assert.equal(sealerOf({ ...two, id: "one" }).open(record), undefined);
    assert.equal(sealerOf({ ...one, id: "two" }).open({ ...record, sealedBy: "two" }), undefined);
  });

  it("do not open with any byte changed, cut off or added", () => {
    const { sealed } = record;
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      assert.equal(sealer.open({ ...record, sealed: changed }), undefined, `byte ${at}`);
      assert.equal(sealer.open({ ...record, sealed: sealed.subarray(0, at) }), undefined);
    }
    const longer = Buffer.concat([sealed, Buffer.alloc(1)]);
    assert.equal(sealer.open({ ...record, sealed: longer }), undefined);
  });
});
