import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { foundOrInstalled } from "./debian-package.ts";

/** A certificate that signs itself. */
export interface Certificate {
  readonly key: Buffer;
  readonly cert: Buffer;
  /** The path of `cert`. */
  readonly file: string;
}

const findOpenssl = () => ["/usr/bin/openssl", "/usr/local/bin/openssl"].find(existsSync);

/** `name`: as certificates have it, such as `DNS:localhost` or `IP:127.0.0.1`. */
export async function makeCertificate(folder: string, name: string): Promise<Certificate> {
  const base = join(folder, name.replaceAll(/\W/g, "-"));
  const [keyFile, file] = [`${base}.key`, `${base}.pem`];
  const openssl = await foundOrInstalled(findOpenssl, "openssl", "Install openssl.");
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  const names = ["-subj", "/CN=tollgate.test", "-addext", `subjectAltName=${name}`];
  execFileSync(openssl, ["req", "-x509", ...kind, ...names, "-keyout", keyFile, "-out", file], {
    stdio: "ignore",
  });
  return { key: readFileSync(keyFile), cert: readFileSync(file), file };
}
