import { randomBytes } from "node:crypto";
import t from "tap";
import { newId } from "../../../core/process/id.ts";
import { Sealer } from "../../../plugins/accounts/sealing/sealer.ts";

const master = (id: string) => ({ id, key: randomBytes(32) });

function sealerOf(...keys: { id: string; key: Buffer }[]): Sealer {
  const sealer = new Sealer();
  sealer.use(keys);
  return sealer;
}

t.test("sealed keys", async (t) => {
  const [one, two] = [master("one"), master("two")];
  const [keyId, accountId, secret] = [newId(1), newId(2), "tg-some-secret"];
  const sealer = sealerOf(one);
  const record = { keyId, accountId, ...sealer.seal(keyId, accountId, secret) };

  t.test("unseal to the original text, and differ each time", async (t) => {
    t.equal(sealer.unseal(record), secret);
    const again = sealer.seal(keyId, accountId, secret);
    t.strictNotSame(again.sealed, record.sealed);
    t.ok(!Buffer.from(record.sealed).includes(secret));
  });

  t.test("are unsealed with an older master key and sealed with the newest", async (t) => {
    const rotated = sealerOf(two, one);
    t.equal(rotated.unseal(record), secret);
    t.equal(rotated.seal(keyId, accountId, secret).sealedBy, "two");
  });

  t.test("cannot be unsealed as part of another record", async (t) => {
    t.equal(sealer.unseal({ ...record, keyId: newId(3) }), undefined);
    t.equal(sealer.unseal({ ...record, accountId: newId(3) }), undefined);
  });

  t.test("cannot be unsealed with another master key, whatever its name", async (t) => {
    t.equal(sealerOf(two).unseal(record), undefined);
    t.equal(sealerOf({ ...two, id: "one" }).unseal(record), undefined);
    t.equal(sealerOf({ ...one, id: "two" }).unseal({ ...record, sealedBy: "two" }), undefined);
  });

  t.test("cannot be unsealed if any byte was changed, removed or added", async (t) => {
    const { sealed } = record;
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      t.equal(sealer.unseal({ ...record, sealed: changed }), undefined, `byte ${at}`);
      t.equal(sealer.unseal({ ...record, sealed: sealed.subarray(0, at) }), undefined);
    }
    const longer = Buffer.concat([sealed, Buffer.alloc(1)]);
    t.equal(sealer.unseal({ ...record, sealed: longer }), undefined);
  });
});
