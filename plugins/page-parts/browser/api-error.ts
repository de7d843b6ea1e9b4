/** A refusal of the API with its machine-readable code. Status 0: the gateway is unreachable. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string | null,
    message: string,
    readonly retryAfterS: number | null,
    /** The field at fault, such as `buyer.tax_code`. */
    readonly param: string | null = null,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** Reads the refusal from a reply body of any endpoint except Messages, which has another shape. */
export function errorOf(response: Response, answer: unknown): ApiError {
  const { error } = (answer ?? {}) as {
    error?: { code?: string | null; message?: string; param?: string | null };
  };
  const retryAfter = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  return new ApiError(
    response.status,
    error?.code ?? null,
    error?.message ?? "",
    Number.isNaN(retryAfter) ? null : retryAfter,
    error?.param ?? null,
  );
}
