import nodeModule from "node:module";

/** What a plugin imports the contract by, wherever it lives. */
const SPECIFIER = "tollgate/plugin";
const CONTRACT = new URL("../contract/index.js", import.meta.url).href;

let isOffered = false;

/**
 * Lets plugins outside of this package import `tollgate/plugin` without a node_modules folder near them. They always
 * get the copy that runs, even if an installed package has another version.
 *
 * Node 22.15 and later resolve it in this thread, which costs nothing. Older ones start a thread for it: 65 ms and
 * 12 MB, so a gateway with its own plugins alone never calls this.
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
