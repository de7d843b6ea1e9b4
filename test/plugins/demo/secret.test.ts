import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { readSecret, replaceSecret } from "../../../plugins/demo/secret.ts";

const folder = mkdtempSync(join(tmpdir(), "tollgate-secret-"));
t.teardown(() => rmSync(folder, { recursive: true }));

t.test("a replaced secret is never readable by other users", async (t) => {
  const file = join(folder, "below", "replaced");
  t.equal(await readSecret(file), undefined);
  await replaceSecret(file, "one");
  await replaceSecret(file, "two");
  t.equal(await readSecret(file), "two");
  t.equal(statSync(file).mode & 0o777, 0o600);
});
