import { mapping, matching, oneOf, text, url, v, whole } from "../../core/plugin/index.ts";

const ADDRESS = "an address such as https://api.example.com, without a path";
const MASTER_KEY = "32 random bytes in base64, as `openssl rand -base64 32` prints them";
const MASTER_KEY_BYTES = 32;
const MASTER_KEYS = "a list of master keys, newest first";

const masterKey = mapping({
  id: matching(/^[A-Za-z0-9._-]{1,64}$/, "a name of up to 64 letters, digits, dots, _ and -"),
  key: v.pipe(
    v.string(MASTER_KEY),
    v.check((key) => Buffer.from(key, "base64").length === MASTER_KEY_BYTES, MASTER_KEY),
  ),
});

const masterKeys = v.pipe(
  v.array(masterKey, MASTER_KEYS),
  v.minLength(1, MASTER_KEYS),
  v.check((keys) => new Set(keys.map(({ id }) => id)).size === keys.length, "unique ids"),
);

const AGREEMENT = "an http(s) address, or the text itself";

const DOMAIN = 'a domain in lower-case letters such as "example.com"';
const DOMAINS = "a list of domains; `sign_up: closed` closes sign-ups";

export const options = v.strictObject({
  /** Who can sign up: everyone, who has a code that an operator made (`invite create`), or no one. Operators create any account. */
  sign_up: v.optional(oneOf(["open", "invited", "closed"]), "open"),
  /** Domains of e-mail addresses that can sign up. Default: all. */
  sign_up_domains: v.optional(
    v.pipe(
      v.array(matching(/^(?=.{1,253}$)[a-z0-9-]+(?:\.[a-z0-9-]+)+$/, DOMAIN), DOMAINS),
      v.minLength(1, DOMAINS),
    ),
  ),
  /** The gateway's public address, for links in mails and the cookie. Default: the listening address. */
  public_url: v.optional(
    v.pipe(
      url(["https?"], ADDRESS),
      // The pages and their cookie are at the root, so links with a path would lead nowhere.
      v.check(
        (address) => !URL.canParse(address) || /^\/*$/.test(new URL(address).pathname),
        ADDRESS,
      ),
    ),
  ),
  /** Keys that encrypt API keys, so that customers can copy them again, and second factors; newest first. */
  master_keys: v.optional(masterKeys),
  /**
   * The operator's terms and privacy policy: an address, or a text, plain or HTML, which the gateway serves at `/terms` and
   * `/privacy`. With one of them, a sign-up needs the customer's agreement.
   */
  terms: v.optional(text(AGREEMENT)),
  privacy: v.optional(text(AGREEMENT)),
  language: v.optional(oneOf(["vi", "en"]), "vi"),
  /** Maximum active keys of one account. */
  active_keys_max: v.optional(whole(1, 1000), 10),
  /** A session ends after `session_idle_hours` without a request, and after `session_days` in any case. */
  session_idle_hours: v.optional(whole(1, 8_760), 168),
  session_days: v.optional(whole(1, 365), 30),
});

export type Options = v.InferOutput<typeof options>;
export type Language = Options["language"];
export type MasterKeyOptions = NonNullable<Options["master_keys"]>;
