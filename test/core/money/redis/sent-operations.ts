/** Returns the names of the operations in the arguments of a script that moves money: see `money.lua`. */
export function sentOperations([, ...args]: readonly string[]): string[] {
  const names: string[] = [];
  for (let at = 0; at + 2 < args.length; at += 3 + Number(args[at + 2])) names.push(args[at] ?? "");
  return names;
}
