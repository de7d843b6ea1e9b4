/** The first version of Node whose V8 does not know the flag. */
const WITHOUT_BUDGET = 24;

/**
 * The flags with which a run starts test files, gateways and simulators, which live for seconds: V8 waits longer before
 * it optimizes a function. Otherwise a gateway spends a fifth of its processor time on code that is then hardly used.
 */
export function shortLivedFlags(version: string = process.version): string[] {
  const major = Number(/^v(\d+)\./.exec(version)?.[1]);
  return major < WITHOUT_BUDGET ? ["--interrupt-budget=1000000"] : [];
}
