import { isObject, parseJson } from "./json.ts";

const LEVELS: Readonly<Record<number, string>> = { 20: "debug", 30: "", 40: "warn", 50: "error" };
/** Fields that no reader at a terminal needs. */
const HIDDEN = ["level", "time", "pid", "msg"];

/**
 * Returns a line of the log for a person at a terminal: local time, level, message, fields.
 *
 *     09:12:44 warn  cannot reach Redis; new calls get 503  reason="connection refused"
 *     09:12:51 call 200 claude-opus-5-5, 12.5 đ, 940 ms  019ab2c4-5d6e-7f80-9a1b-2c3d4e5f6071
 */
export function readableLine(json: string): string {
  const line = parseJson(json);
  if (!isObject(line)) return json;
  const time = new Date(Number(line["time"])).toTimeString().slice(0, 8);
  if (line["msg"] === "call") return `${time} ${callText(line)}\n`;
  const level = LEVELS[Number(line["level"])] ?? String(line["level"]);
  const fields = Object.entries(line)
    .filter(([name]) => !HIDDEN.includes(name))
    .map(([name, value]) => `${name}=${valueText(value)}`);
  return `${[time, level, line["msg"], ...fields].filter((part) => part !== "").join(" ")}\n`;
}

function callText(line: Readonly<Record<string, unknown>>): string {
  const { status, model = "", outcome, cost_vnd, latency_ms, call_id } = line;
  const ending = status === 200 && outcome !== "complete" ? ` ${outcome}` : "";
  return `call ${status}${ending} ${model}, ${cost_vnd} đ, ${latency_ms} ms  ${call_id}`;
}

/** An error as its stack, text as it is unless it has spaces or quotes, all else as JSON. */
function valueText(value: unknown): string {
  if (isObject(value) && typeof value["stack"] === "string") return value["stack"];
  if (typeof value === "string" && /^[^\s"]+$/.test(value)) return value;
  return JSON.stringify(value);
}
