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

  it("unseal to what was sealed, and look different each time", () => {
    assert.equal(sealer.unseal(record), secret);
    const again = sealer.seal(keyId, accountId, secret);
    assert.notDeepEqual(again.sealed, record.sealed);
    assert.ok(!Buffer.from(record.sealed).includes(secret));
  });

  it("are unsealed by an older master key, and are sealed by the newest", () => {
    const rotated = sealerOf(two, one);
    assert.equal(rotated.unseal(record), secret);
    assert.equal(rotated.seal(keyId, accountId, secret).sealedBy, "two");
  });

  it("cannot be unsealed in another record", () => {
    assert.equal(sealer.unseal({ ...record, keyId: newId(3) }), undefined);
    assert.equal(sealer.unseal({ ...record, accountId: newId(3) }), undefined);
  });

  it("cannot be unsealed by another master key, whatever its name", () => {
    assert.equal(sealerOf(two).unseal(record), undefined);
    assert.equal(sealerOf({ ...two, id: "one" }).unseal(record), undefined);
    assert.equal(sealerOf({ ...one, id: "two" }).unseal({ ...record, sealedBy: "two" }), undefined);
  });

  it("cannot be unsealed with any byte changed, cut off or added", () => {
    const { sealed } = record;
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      assert.equal(sealer.unseal({ ...record, sealed: changed }), undefined, `byte ${at}`);
      assert.equal(sealer.unseal({ ...record, sealed: sealed.subarray(0, at) }), undefined);
    }
    const longer = Buffer.concat([sealed, Buffer.alloc(1)]);
    assert.equal(sealer.unseal({ ...record, sealed: longer }), undefined);
  });
});
