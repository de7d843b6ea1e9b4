import "node:module";

declare module "node:module" {
  /** Exists since Node 22.15; `@types/node` of Node 20 does not declare it. */
  const registerHooks:
    | ((hooks: {
        resolve(specifier: string, context: object, next: ResolveNext): ResolvedModule;
      }) => void)
    | undefined;
}

type ResolveNext = (specifier: string, context: object) => ResolvedModule;

interface ResolvedModule {
  readonly url: string;
  readonly format?: string;
  readonly shortCircuit?: boolean;
}
