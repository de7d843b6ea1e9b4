import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { secretFile } from "../../../core/process/secret-file.ts";

const folder = mkdtempSync(join(tmpdir(), "tollgate-secret-"));
t.teardown(() => rmSync(folder, { recursive: true }));
const modeOf = (file: string) => statSync(file).mode & 0o777;

t.test("a secret is created once, and concurrent callers get the same one", async (t) => {
  const file = join(folder, "below", "token");
  const secrets = await Promise.all([secretFile(file), secretFile(file)]);
  t.equal(secrets[0], secrets[1]);
  t.equal(await secretFile(file), secrets[0]);
  t.equal(modeOf(file), 0o600);
  t.strictSame(readdirSync(join(folder, "below")), ["token"]);
});

t.test("a damaged file is kept, and the error says what to do", async (t) => {
  const file = join(folder, "damaged");
  writeFileSync(file, "short\n");
  await t.rejects(secretFile(file), /damaged has no usable secret; delete it/);
  const key = { create: () => "x", isUsable: () => false, advice: "restore it" };
  await t.rejects(secretFile(file, key), /damaged has no usable secret; restore it/);
  t.equal(readFileSync(file, "utf8"), "short\n");
});
