import nodeModule from "node:module";

/** The specifier by which plugins import the contract. */
const SPECIFIER = "tollgate/plugin";
const CONTRACT = new URL("../plugin/index.js", import.meta.url).href;

let isOffered = false;

/**
 * Lets plugins outside this package import `tollgate/plugin` without a node_modules folder. They always get the
 * running copy, even if another version is installed.
 *
 * Node 22.15 and later resolve it in this thread, at no cost. Earlier versions start a thread (65 ms, 12 MB), so
 * call this only for plugins that are not built in.
 */
export function offerContract(): void {
  if (isOffered) return;
  isOffered = true;
  if (nodeModule.registerHooks) {
    nodeModule.registerHooks({
      resolve: (specifier, context, next) =>
        specifier === SPECIFIER ? FOUND : next(specifier, context),
    });
    return;
  }
  const hook = `export const resolve = (specifier, context, next) =>
    specifier === ${JSON.stringify(SPECIFIER)} ? ${JSON.stringify(FOUND)} : next(specifier, context);`;
  nodeModule.register(`data:text/javascript,${encodeURIComponent(hook)}`);
}

const FOUND = { url: CONTRACT, format: "module", shortCircuit: true };
