import { loadNative } from "../../core/listener/native-build.ts";

/** False under a Node that no installed build of uWebSockets.js is for: gateways then listen by `node:http`. */
export const hasNativeEngine = await loadNative().then(
  () => true,
  () => false,
);
