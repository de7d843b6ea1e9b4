import { type Directive, parseDirective } from "./directive.ts";

const opening = "[[sim ";
const keyPrefix = "sim:";

/** The places of one call that may hold a directive. For each field, the later place wins. */
export interface DirectivePlaces {
  readonly model: string;
  /** The API key as sent, without `Bearer `. */
  readonly key: string;
  /** The value of the x-sim header, empty if absent. */
  readonly header: string;
  /** The text after the last assistant turn. */
  readonly prompt: string;
}

/** Merges all directives of a call. Returns an error message if one of them is invalid. */
export function findDirective(places: DirectivePlaces): Directive | string {
  let found: Directive = {};
  for (const json of written(places)) {
    if (json === undefined) continue;
    if (json === unreadable) {
      return 'The simulator\'s directive is not JSON; write [[sim {"delay_ms":100}]] or x-sim: {…}';
    }
    const directive = parseDirective(json);
    if (typeof directive === "string") return directive;
    found = { ...found, ...directive };
  }
  return found;
}

/** Removes the markers from a prompt, so that the default reply does not quote them. */
export function withoutMarkers(prompt: string): string {
  let rest = prompt;
  for (let at = rest.indexOf(opening); at >= 0; at = rest.indexOf(opening)) {
    const end = markerEnd(rest, at + opening.length);
    if (end === undefined) break;
    rest = rest.slice(0, at) + rest.slice(end.after);
  }
  return rest.trim();
}

const unreadable = Symbol("unreadable");

function written({ model, key, header, prompt }: DirectivePlaces): unknown[] {
  const marker = prompt.lastIndexOf(opening);
  return [
    byModel(model),
    key.startsWith(keyPrefix) ? readJson(key.slice(keyPrefix.length)) : undefined,
    header === "" ? undefined : readJson(header),
    marker < 0 ? undefined : (markerEnd(prompt, marker + opening.length)?.json ?? unreadable),
  ];
}

function byModel(model: string): unknown {
  if (!model.startsWith("sim-")) return undefined;
  const [, kind, number] = /^sim-(echo|hang|status|tokens)(?:-(\d+))?$/.exec(model) ?? [];
  if (kind === "echo") return { echo: true };
  if (kind === "hang") return { hang: true };
  if (kind === "status" && number !== undefined) return { status: Number(number) };
  if (kind === "tokens" && number !== undefined) return { output_tokens: Number(number) };
  return undefined;
}

/** Returns the JSON of the last marker `[[NAME JSON]]` in a text; undefined without one that is JSON. */
export function lastMarker(text: string, name: string): unknown {
  const start = `[[${name} `;
  const at = text.lastIndexOf(start);
  return at < 0 ? undefined : markerEnd(text, at + start.length)?.json;
}

/**
 * Finds the end of a marker: the first `]]` with valid JSON before it. Nested arrays and strings
 * may contain `]]` too.
 */
function markerEnd(text: string, from: number): { json: unknown; after: number } | undefined {
  for (let at = text.indexOf("]]", from); at >= 0; at = text.indexOf("]]", at + 1)) {
    const json = readJson(text.slice(from, at));
    if (json !== unreadable) return { json, after: at + 2 };
  }
  return undefined;
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return unreadable;
  }
}
