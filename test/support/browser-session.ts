import type { TestGateway } from "./gateway.ts";
import { type TestMailServer, tokenIn } from "./mail-server.ts";

export const PASSWORD = "mật khẩu rất dài";

export interface AccountAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a missing field fails the assertion that reads it.
  readonly body: any;
  /** `error.code` of a refusal. */
  readonly code: string | undefined;
}

type Target = Pick<TestGateway, "url">;

/** A browser's state: its cookies, and the CSRF token of the page. */
export class BrowserSession {
  /** The cookie of the session. */
  cookie: string | undefined;
  /** The cookie of a browser in which an account has signed in before. */
  device: string | undefined;
  csrfToken: string | undefined;
  /** Sent with every request; overrides the headers of a browser. */
  headers: Record<string, string> = {};

  constructor(readonly target: Target) {}

  /** Sends a request below `/account/v1` and keeps the returned cookie and CSRF token. */
  async send(
    method: "GET" | "POST" | "DELETE",
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<AccountAnswer> {
    const response = await fetch(`${this.target.url}/account/v1${path}`, {
      method,
      headers: {
        "content-type": "application/json",
        ...this.cookies(),
        ...(this.csrfToken !== undefined && method !== "GET" && { "x-csrf-token": this.csrfToken }),
        ...this.headers,
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type") === "application/json";
    const json = isJson && text !== "" ? JSON.parse(text) : {};
    for (const given of response.headers.getSetCookie()) {
      const [cookie = ""] = given.split(";");
      if (cookie.includes("tollgate_device=")) this.device = cookie;
      else this.cookie = cookie;
    }
    if (typeof json.csrf_token === "string") this.csrfToken = json.csrf_token;
    const code = json.error?.code ?? undefined;
    return { status: response.status, headers: response.headers, text, body: json, code };
  }

  private cookies(): { cookie?: string } {
    const all = [this.cookie, this.device].filter((cookie) => cookie !== undefined);
    return all.length > 0 ? { cookie: all.join("; ") } : {};
  }

  get(path: string): Promise<AccountAnswer> {
    return this.send("GET", path);
  }

  post(path: string, body: unknown = {}): Promise<AccountAnswer> {
    return this.send("POST", path, body);
  }

  async signIn(email: string, password = PASSWORD): Promise<AccountAnswer> {
    return this.post("/sign-in", { email, password });
  }
}

let customers = 0;

export function newEmail(): string {
  customers += 1;
  return `person-${process.pid}-${customers}@tollgate.test`;
}

/** Signs up and verifies the address with the mailed token, which signs in. */
export async function signedUp(
  target: Target,
  mailServer: TestMailServer,
  email: string = newEmail(),
): Promise<BrowserSession & { readonly email: string; readonly accountId: string }> {
  const session = new BrowserSession(target);
  session.headers = { "x-forwarded-for": ownAddress() };
  expectStatus(await session.post("/sign-up", { email, password: PASSWORD, agreed: true }), 202);
  const mail = await mailServer.mailTo(email, /#token=/);
  const verification = { token: tokenIn(mail), password: PASSWORD };
  const answer = expectStatus(await session.post("/verify", verification), 200);
  return Object.assign(session, { email, accountId: String(answer.body.account.id) });
}

/** An address that no other customer of a test uses. Gateways of tests trust proxies on this machine. */
export function ownAddress(): string {
  customers += 1;
  return `10.${(customers >> 16) & 255}.${(customers >> 8) & 255}.${customers & 255}`;
}

function expectStatus(answer: AccountAnswer, status: number): AccountAnswer {
  if (answer.status !== status) throw new Error(`${answer.status}: ${answer.text}`);
  return answer;
}
