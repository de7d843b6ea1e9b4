import assert from "node:assert/strict";
import { codeAt } from "../../plugins/sign-in-parts/totp.ts";
import { type AdminAnswer, type AdminTarget, admin } from "./admin.ts";

const STEP_MS = 30_000;
export const OPERATOR_PASSWORD = "a long walk by the lake";

/** An operator of a test's gateway, signed in. */
export interface TestOperator {
  readonly email: string;
  readonly secret: string;
  /** The code that the enrolment has used. */
  readonly usedCode: string;
  readonly recoveryCodes: readonly string[];
  /** A target of `admin` whose token is the session's. */
  readonly session: AdminTarget;
}

/** Sends a request without a token. */
export function anonymous(gateway: AdminTarget, path: string, body: object): Promise<AdminAnswer> {
  return admin({ url: gateway.url, adminToken: "none" }, "POST", path, body);
}

/** The code of this second factor now, or so many steps later: each step's code counts once. */
export function totpCode(secret: string, stepsLater = 0): string {
  return codeAt(secret, Math.floor(Date.now() / STEP_MS) + stepsLater);
}

/** Invites a person and uses the link. */
export async function createOperator(
  gateway: AdminTarget,
  role: string,
  email = `${role}@shop.test`,
): Promise<TestOperator> {
  const invited = await admin(gateway, "POST", "/operators", { email, role });
  assert.equal(invited.status, 201, JSON.stringify(invited.body));
  const token = String(invited.body["link"]).split("#token=")[1] ?? "";
  const opened = await anonymous(gateway, "/join", { token });
  assert.equal(opened.status, 200, JSON.stringify(opened.body));
  const secret = String(opened.body["secret"]);
  const confirm = (code: string) =>
    anonymous(gateway, "/join/confirm", { token, password: OPERATOR_PASSWORD, code });
  // The code before the one of now, which tests use. It ends while a busy machine hashes the password.
  let usedCode = "";
  let joined: AdminAnswer;
  do {
    usedCode = totpCode(secret, -1);
    joined = await confirm(usedCode);
  } while (joined.status === 403 && usedCode !== totpCode(secret, -1));
  assert.equal(joined.status, 200, JSON.stringify(joined.body));
  return {
    email,
    secret,
    usedCode,
    recoveryCodes: joined.body["recovery_codes"] as string[],
    session: { url: gateway.url, adminToken: String(joined.body["token"]) },
  };
}
