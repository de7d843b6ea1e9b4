import { createHash } from "node:crypto";
import { isId } from "../../process/id.ts";
import { objectOf, parseJson } from "../../process/json.ts";
import type { Refusal } from "../refusal.ts";
import type { Services } from "../services.ts";
import type { OperatorRoute } from "./json-route.ts";
import type { PlainRequest, PlainResponse } from "./router.ts";

const FINGERPRINT_CHARACTERS = 12;
const FIELDS_MAX = 20;
const FIELD_CHARACTERS_MAX = 500;

/** Does what an operator asks for between the two halves of its row in the audit trail. */
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
  const answer = await route.handle(request, "operator");
  await operatorActions.end(id, answer.status).catch((error: unknown) => {
    log.error(
      { err: error, action_id: Number(id) },
      "the end of an operator's action is not noted",
    );
  });
  return answer;
}

/** Tells tokens apart without telling them. */
function fingerprint(authorization: string | undefined): string {
  const token = authorization?.replace(/^bearer +/i, "").trim() ?? "";
  return createHash("sha256").update(token).digest("hex").slice(0, FINGERPRINT_CHARACTERS);
}

/** The plain fields of a request, at most so many and so long: the trail is for reading. */
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
