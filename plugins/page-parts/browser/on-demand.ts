/** A script that a page asks for later has not come. Chromium then refuses it until the document is loaded again. */
export class ScriptError extends Error {}

/** Loads a script on demand. Rejects with a `ScriptError`. */
export function onDemand<Module>(loading: Promise<Module>): Promise<Module> {
  return loading.catch((cause: unknown) => {
    throw new ScriptError("a script has not come", { cause });
  });
}
