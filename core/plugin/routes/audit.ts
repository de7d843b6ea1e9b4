import { createHash } from "node:crypto";
import { isId } from "../../process/id.ts";
import { objectOf, parseJson } from "../../process/json.ts";
import type { Refusal } from "../../wire/refusal.ts";
import type { Services } from "../services.ts";
import type { OperatorRoute } from "./json-route.ts";
import type { PlainRequest, PlainResponse } from "./router.ts";

const FINGERPRINT_CHARACTERS = 12;
const FIELDS_MAX = 20;
const FIELD_CHARACTERS_MAX = 500;

/**
 * Runs an operator's action. Writes its row in the audit trail before it, and adds the status of
 * the reply after it.
 */
export async function audit(
  { operatorActions, log }: Services,
  action: string,
  route: OperatorRoute,
  request: PlainRequest,
): Promise<PlainResponse | Refusal> {
  const { params, body, headers, remoteAddress } = request;
  const { account = "" } = params;
  const id = await operatorActions.begin({
    operator: fingerprint(headers["authorization"]),
    remoteAddress,
    action,
    accountId: isId(account) ? account : null,
    details: { ...shortened(params), ...shortened(objectOf(parseJson(body.toString())) ?? {}) },
  });
  const reply = await route.handle(request, "operator");
  await operatorActions.end(id, reply.status).catch((error: unknown) => {
    log.error(
      { err: error, action_id: Number(id) },
      "cannot record the result of an operator action",
    );
  });
  return reply;
}

/** A fingerprint that does not reveal the token. */
function fingerprint(authorization: string | undefined): string {
  const token = authorization?.replace(/^bearer +/i, "").trim() ?? "";
  return createHash("sha256").update(token).digest("hex").slice(0, FINGERPRINT_CHARACTERS);
}

/**
 * Returns the plain fields of a request, at most 20 of at most 500 characters each: the trail is
 * for reading.
 */
function shortened(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const short: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields).slice(0, FIELDS_MAX)) {
    const isPlain = value === null || typeof value === "number" || typeof value === "boolean";
    if (isPlain) short[cut(name)] = value;
    else if (typeof value === "string") short[cut(name)] = cut(value);
  }
  return short;
}

function cut(text: string): string {
  return text.slice(0, FIELD_CHARACTERS_MAX);
}
