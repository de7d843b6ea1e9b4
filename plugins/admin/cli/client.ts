import { once } from "node:events";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { text } from "node:stream/consumers";
import { isObject, objectOf, parseJson, program } from "../../../core/plugin/index.ts";
import { EXIT, Failure } from "./failure.ts";

/** Long enough to reconcile many wallets, which takes minutes: `fetch` of Node waits for 300 s at most. */
const TIMEOUT_MS = 600_000;

/** The admin API of a running gateway. */
export class Client {
  private readonly prefix: string;

  constructor(
    private readonly base: string,
    private readonly token: string,
    prefix = "/admin/v1",
  ) {
    this.prefix = prefix;
  }

  /** Returns a client of the same gateway with another path prefix. */
  below(prefix: string): Client {
    return new Client(this.base, this.token, prefix);
  }

  get(path: string, query: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const search = new URLSearchParams(query).toString();
    return this.send("GET", search === "" ? path : `${path}?${search}`, undefined);
  }

  post(path: string, body: object): Promise<unknown> {
    return this.send("POST", path, JSON.stringify(body));
  }

  delete(path: string, body: object): Promise<unknown> {
    return this.send("DELETE", path, JSON.stringify(body));
  }

  /** Returns the JSON of the reply. Throws a Failure if the gateway refuses or cannot be reached. */
  private async send(method: string, path: string, body: string | undefined): Promise<unknown> {
    const { status, text } = await this.exchange(method, path, body);
    const answer = parseJson(text);
    if (status >= 200 && status < 300 && answer !== undefined) return answer;
    // Built-in commands have no prefix. Those of plugins come from the admin API, so the gateway
    // has one.
    const mayLackApi = this.prefix !== "";
    const code = objectOf(objectOf(answer)?.["error"])?.["code"];
    throw new Failure(
      EXIT.refused,
      refusalIn(answer, status, this.base, mayLackApi),
      typeof code === "string" ? code : undefined,
    );
  }

  private async exchange(method: string, path: string, body: string | undefined) {
    const request = this.base.startsWith("https:") ? requestHttps : requestHttp;
    try {
      // Follows no redirect, which would send the token to another address.
      const sent = request(`${this.base}${this.prefix}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.token}`,
          "content-type": "application/json",
          // Node states none for DELETE, and the body would be read as the next request.
          ...(body !== undefined && { "content-length": Buffer.byteLength(body) }),
        },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      }).end(body);
      const [response]: IncomingMessage[] = await once(sent, "response");
      if (!response) throw new Error("no reply");
      return { status: response.statusCode ?? 0, text: await text(response) };
    } catch (error) {
      const why = `cannot reach ${this.base} (${reasonOf(error)})`;
      const advice = `start the gateway with ${program.start}, or give its address with --url`;
      throw new Failure(EXIT.unreachable, `${why}; ${advice}`);
    }
  }
}

function refusalIn(answer: unknown, status: number, base: string, mayLackApi: boolean): string {
  const error = isObject(answer) ? answer["error"] : undefined;
  const message = isObject(error) ? error["message"] : undefined;
  if (typeof message !== "string") {
    return `${base} replied ${status}, but not like a gateway; check --url`;
  }
  if (status === 401) {
    return `${message} Set GATEWAY_ADMIN_TOKEN or --token to the token of the gateway at ${base}.`;
  }
  if (mayLackApi && status === 404 && isObject(error) && error["param"] === null) {
    const advice =
      "add the plugin `admin` to its config, or give --url the address of its admin.listen";
    return `${base} has no admin API; ${advice}`;
  }
  return message;
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return "code" in cause && typeof cause.code === "string" ? cause.code : cause.message;
}
