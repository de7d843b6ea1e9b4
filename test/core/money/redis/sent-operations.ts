/** Returns the names of the operations in the arguments of a script that moves money: see `money.lua`. */
export function sentOperations(args: readonly string[]): string[] {
  return args.flatMap((text) => /^(\w+)\0\d+\0/.exec(text)?.[1] ?? []);
}
