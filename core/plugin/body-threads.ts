import type { RequestBody } from "../body/request-body.ts";
import type { Refusal } from "../wire/refusal.ts";
import type { Call } from "./call.ts";

/**
 * Threads that work on long bodies, so that one body does not stop all other calls. A thread has bounded memory and
 * time. A body that exceeds them breaks its thread, and no other call.
 */
export interface BodyThreads {
  /** Bodies that wait for a thread. */
  readonly waiting: number;

  /**
   * Calls the default export of a module, a `ThreadWork`, in a thread. Input and result must be plain data. The bytes are
   * copied, unless they are lent: then the caller must not use them, and the work hands them back in its result. Resolves with the result, or a refusal: 413 if the body breaks the thread, 429 or 503 if too many bytes wait.
   * Rejects if the work throws.
   */
  run<Result>(
    call: Pick<Call, "id" | "key" | "gone">,
    module: URL,
    input: unknown,
    bytes: Uint8Array,
    isLent?: boolean,
  ): Promise<Result | Refusal>;
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
