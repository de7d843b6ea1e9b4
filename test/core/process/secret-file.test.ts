import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readSecret, replaceSecret, secretFile } from "../../../core/process/secret-file.ts";

const folder = mkdtempSync(join(tmpdir(), "tollgate-secret-"));
after(() => rmSync(folder, { recursive: true }));
const modeOf = (file: string) => statSync(file).mode & 0o777;

test("a secret is made once, and is the same for all who ask at once", async () => {
  const file = join(folder, "below", "token");
  const secrets = await Promise.all([secretFile(file), secretFile(file)]);
  assert.equal(secrets[0], secrets[1]);
  assert.equal(await secretFile(file), secrets[0]);
  assert.equal(modeOf(file), 0o600);
  assert.deepEqual(readdirSync(join(folder, "below")), ["token"]);
});

test("a damaged file is kept, and its error says what to do", async () => {
  const file = join(folder, "damaged");
  writeFileSync(file, "short\n");
  await assert.rejects(secretFile(file), /damaged has no usable secret; delete it/);
  const key = { create: () => "x", isUsable: () => false, advice: "restore it" };
  await assert.rejects(secretFile(file, key), /damaged has no usable secret; restore it/);
  assert.equal(await readSecret(file), "short");
});

test("a secret that is replaced is never readable by others", async () => {
  const file = join(folder, "replaced");
  assert.equal(await readSecret(file), undefined);
  await replaceSecret(file, "one");
  await replaceSecret(file, "two");
  assert.equal(await readSecret(file), "two");
  assert.equal(modeOf(file), 0o600);
});
