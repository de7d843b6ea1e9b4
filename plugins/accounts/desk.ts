import {
  httpAddress,
  type PlainRequest,
  type Refusal,
  reachableAddress,
  refuse,
  type Services,
} from "../../core/contract/index.ts";
import { CredentialStore } from "./credentials.ts";
import type { Mail, Mailer } from "./mail/mailer.ts";
import type { MailTemplate } from "./mail/texts.ts";
import type { Language, Options } from "./options.ts";
import { fromElsewhere } from "./own-page.ts";
import { Passwords } from "./passwords.ts";
import { blockOf, remoteAddressOf } from "./remote-address.ts";
import type { Sealer } from "./sealing/sealer.ts";
import { Sessions } from "./sessions.ts";
import { type Attempt, Throttle } from "./throttle.ts";

/** What the routes share. */
export class Desk {
  readonly services: Services;
  readonly options: Options;
  readonly passwords = new Passwords();
  readonly credentials: CredentialStore;
  readonly sessions: Sessions;
  readonly throttle: Throttle;
  readonly mailer: Mailer;
  readonly sealer: Sealer;
  private listeningAt: string;

  constructor(services: Services, options: Options, mailer: Mailer, sealer: Sealer) {
    const { accounts, database, clock, config } = services;
    this.listeningAt = reachableAddress(httpAddress(config.listen.host, config.listen.port));
    this.services = services;
    this.options = options;
    this.credentials = new CredentialStore(accounts, database, clock);
    this.sessions = new Sessions(accounts, database, clock, options);
    this.throttle = new Throttle(database, clock);
    this.mailer = mailer;
    this.sealer = sealer;
  }

  /** Where customers reach the gateway, without a slash at the end. */
  get publicUrl(): string {
    return this.options.public_url?.replace(/\/+$/, "") ?? this.listeningAt;
  }

  get isSecure(): boolean {
    return this.publicUrl.startsWith("https:");
  }

  listening(address: string): void {
    this.listeningAt = reachableAddress(address);
  }

  /** The block of addresses that a request's attempts are counted by. */
  remoteOf(request: PlainRequest): string {
    return blockOf(remoteAddressOf(request, this.options.proxies));
  }

  /**
   * What every request that anybody may send goes through: it comes from no other site, and not too often. Its
   * address is looked at first, so that a flood leaves no trace of the names that it goes through.
   */
  async admit(request: PlainRequest, ...attempts: Attempt[]): Promise<Refusal | undefined> {
    const elsewhere = fromElsewhere(request, this.publicUrl);
    if (elsewhere) return elsewhere;
    const tooFast = await this.throttle.take(["address", this.remoteOf(request)]);
    if (tooFast || attempts.length === 0) return tooFast;
    return this.throttle.take(...attempts);
  }

  languageOf(credentials: { readonly language: Language | null }): Language {
    return credentials.language ?? this.options.language;
  }

  /** A mail with a link to a page of the dashboard. Its token is behind #, which no server ever sees. */
  async linkMail(
    kind: "verify" | "taken" | "reset",
    account: { readonly accountId: string; readonly email: string },
    language: Language,
  ): Promise<Mail> {
    const page = kind === "verify" ? "verify" : "reset";
    const token = await this.credentials.issue(account.accountId, page);
    const letter: MailTemplate = {
      kind,
      link: `${this.publicUrl}/dashboard/${page}#token=${token}`,
    };
    return { to: account.email, language, letter };
  }
}

/** More passwords wait to be hashed, or mails to be sent, than should. */
export function busy(): Refusal {
  const message = "Too many people are at the door just now: try again in a few seconds.";
  return refuse.unavailable(message, {
    code: "busy",
    headers: ["retry-after", "5"],
  });
}

export function invalidToken(): Refusal {
  const message = "The link is not valid: it was used already, or is too old. Ask for another.";
  return refuse.badRequest(message, {
    code: "invalid_token",
    param: "token",
  });
}
