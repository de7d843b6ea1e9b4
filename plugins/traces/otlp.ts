/** The parts of OTLP's JSON that this plugin writes: opentelemetry-proto, `trace.proto` and `common.proto`. */

type AttributeValue = string | number | boolean | readonly string[];

interface KeyValue {
  readonly key: string;
  readonly value: object;
}

export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly KeyValue[];
  readonly events: readonly { readonly timeUnixNano: string; readonly name: string }[];
  readonly status: { readonly code: number };
}

export const SPAN_KIND = { server: 2, client: 3 };
export const STATUS = { unset: 0, error: 2 };

/** Returns attributes in OTLP's form. Leaves out those that are undefined. 64-bit numbers are texts there. */
export function attributesOf(
  values: Readonly<Record<string, AttributeValue | undefined>>,
): KeyValue[] {
  const attributes: KeyValue[] = [];
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined) attributes.push({ key, value: anyValue(value) });
  }
  return attributes;
}

function anyValue(value: AttributeValue): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") {
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  }
  return { arrayValue: { values: value.map((text) => ({ stringValue: text })) } };
}

/** Returns a time of the Unix epoch in nanoseconds. */
export function nanosecondsOf(unixMs: number): string {
  return `${Math.round(unixMs * 1_000)}000`;
}

/** Returns the body of an export request. */
export function exportRequest(serviceName: string, spans: readonly OtlpSpan[]): string {
  const attributes = attributesOf({ "service.name": serviceName });
  const scopeSpans = [{ scope: { name: "tollgate" }, spans }];
  return JSON.stringify({ resourceSpans: [{ resource: { attributes }, scopeSpans }] });
}
