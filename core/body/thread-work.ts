import type { RequestBody } from "./request-body.ts";

/** A call whose body a thread works on. */
export interface Caller {
  readonly id: string;
  readonly key?: { readonly id: string; readonly accountId: string } | undefined;
  readonly gone: boolean;
}

/** The work of a module in a thread. Memory in `handed` is handed to the main thread without a copy. */
export type ThreadWork<Input, Result> = (
  input: Input,
  bytes: Buffer,
) => Promise<{ readonly result: Result; readonly handed?: readonly ArrayBuffer[] }>;

/** A number or more that a plugin needs of each body that goes upstream. */
export interface BodyMeasure {
  readonly name: string;
  /** The address of a module whose default export is a `MeasureWork`. */
  readonly module: string;
}

/** Measures a body in the thread that has it. The result is plain data. */
type MeasureWork<Result> = (body: RequestBody) => Result;

/** Takes all measures of a body. */
export async function measuresOf(
  body: RequestBody,
  measures: readonly BodyMeasure[],
): Promise<Readonly<Record<string, unknown>>> {
  const values: Record<string, unknown> = {};
  for (const { name, module } of measures) {
    const { default: measure }: { default: MeasureWork<unknown> } = await import(module);
    values[name] = measure(body);
  }
  return values;
}
