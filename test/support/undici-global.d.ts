declare module "undici/lib/global.js" {
  export { setGlobalDispatcher } from "undici";
}
