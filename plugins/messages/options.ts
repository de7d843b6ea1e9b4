import {
  email,
  type Fault,
  mapping,
  matching,
  oneOf,
  text,
  url,
  v,
  whole,
} from "../../core/plugin/index.ts";
import { isPrivateHost } from "./send-json.ts";

const FROM = 'a sender such as "Tollgate <no-reply@example.com>"';

const smtp = mapping({
  host: text("the name of a mail server"),
  port: v.optional(whole(1, 65_535), 587),
  /** True: TLS from the first byte, as on port 465. False: STARTTLS, which only a server on this machine need not offer. */
  secure: v.optional(v.boolean("true or false"), false),
  user: v.optional(text()),
  password: v.optional(text()),
  from: matching(/^[^\r\n]*[^\s@<>]+@[^\s@<>]+>?$/, FROM),
});

const ADDRESS = "an http(s) address such as https://example.com/hook";
const MAILS = "a list of at most 20 e-mail addresses";
const BOT_TOKEN = "the token of a bot, such as 123456:ABC-DEF…";
const CHAT = "the id of a chat, or the name of a channel such as @alerts";
const SECRET = "a secret of at least 16 characters";

/** Some services take a secret in the query, such as `?code=…`. */
const hookAddress = v.pipe(
  matching(/^https?:\/\/[^\s/?#]+[^\s#]*$/, ADDRESS),
  v.check((address) => URL.canParse(address), ADDRESS),
);

const operators = mapping({
  language: v.optional(oneOf(["vi", "en"]), "vi"),
  /** Addresses that get what needs a person. */
  mail: v.optional(v.pipe(v.array(email, MAILS), v.maxLength(20, MAILS)), []),
  /** Gets a POST with JSON, signed with the secret. `allow_private`: it may be in a private network or on this machine. */
  webhook: v.optional(
    mapping({
      url: hookAddress,
      secret: v.pipe(v.string(SECRET), v.minLength(16, SECRET)),
      allow_private: v.optional(v.boolean("true or false"), false),
    }),
  ),
  telegram: v.optional(
    mapping({
      token: matching(/^\d{4,20}:[\w-]{20,100}$/, BOT_TOKEN),
      chat_id: matching(/^(?:-?\d{1,20}|@\w{4,40})$/, CHAT),
      /** A server of one's own that speaks Telegram's API. */
      api_url: v.optional(url(["https?"], ADDRESS), "https://api.telegram.org"),
    }),
  ),
  /** The address at which operators open the console, for links. Default: the listening address. */
  console_url: v.optional(url(["https?"], ADDRESS)),
  /** A trouble that lasts is written again after this time. */
  remind_hours: v.optional(whole(1, 720), 24),
});

export const options = v.strictObject({
  /** The mail server. Without it, the links of mails are printed to stdout, and no other mails are sent. */
  smtp: v.optional(smtp),
  /** Customers get a mail when their balance falls below it, in đ, unless they set an amount of their own; 0: none. */
  low_balance_vnd: v.optional(whole(0, 1_000_000_000), 20_000),
  /** Who gets what needs a person. Default: no one; the console shows it. */
  operators: v.optional(operators),
});

export type Options = v.InferOutput<typeof options>;
export type OperatorOptions = NonNullable<Options["operators"]>;
export type SmtpOptions = NonNullable<Options["smtp"]>;

/** Checks what depends on another option. */
export function review({ smtp: server, operators: to }: Options): readonly Fault[] {
  const faults: Fault[] = [];
  if (to && to.mail.length > 0 && !server) {
    faults.push({
      path: ["operators", "mail"],
      message: "expected smtp too, which sends the mails",
    });
  }
  if (to?.webhook && !to.webhook.allow_private && isPrivateHost(new URL(to.webhook.url).hostname)) {
    const message = "expected a public address, or allow_private: true";
    faults.push({ path: ["operators", "webhook", "url"], message });
  }
  return faults;
}
