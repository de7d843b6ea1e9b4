import t from "tap";
import { delaysRecipient, refusesRecipient } from "../../../plugins/messages/mail-failure.ts";

/** The error of a server that says this at the recipient. */
const errorOf = (response: string) => ({
  ...{ code: "EENVELOPE", command: "RCPT TO", response },
  responseCode: Number(response.slice(0, 3)),
});
const refuses = (response: string, more: object = {}) =>
  refusesRecipient({ ...errorOf(response), ...more });

t.test("a recipient whom the server does not know is refused for good", async (t) => {
  for (const response of [
    "550 5.1.1 <an@example.com>: Recipient address rejected: User unknown",
    "550-5.1.1 The email account that you tried to reach does not exist.\n550 5.1.1 Try again",
    "554 5.1.2 Bad destination system",
    "550 5.1.10 RESOLVER.ADR.RecipientNotFound",
    "550 5.2.1 The email account that you tried to reach is disabled",
    "552 5.2.2 Mailbox full",
    "550 No such user",
    "550 Unknown user generated@example.com",
    "551 User not local",
    "553 Mailbox name not allowed",
    "550",
  ]) {
    t.equal(refuses(response), true, response);
  }
});

t.test("a server that refuses the gateway, or asks it to wait, refuses no recipient", async (t) => {
  for (const response of [
    "550 relay not permitted",
    "550 Relaying denied",
    "554 Relay access denied",
    "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
    "550 authentication required",
    "503 AUTH command must be used first",
    "530 Authentication required",
    "550 5.4.5 Daily user sending limit exceeded",
    "550 5.7.1 Unable to relay",
    "550-Requested action not taken: mailbox unavailable\n550 Failure sending mail. Try again later.",
    "550 all recipients were rejected: too many messages",
    "550 Sender verify failed",
    "550 5.1.8 <no-reply@shop.example>: Sender address rejected: Domain not found",
    "553 5.1.7 Bad sender's mailbox address",
    "550 Administrative prohibition",
    "550 Your IP 203.0.113.7 is blacklisted",
    "550 Access denied",
    "500 Command unrecognized",
    "450 4.1.1 User unknown for now",
  ]) {
    t.equal(refuses(response), false, response);
  }
  t.equal(refuses("550 5.1.1 User unknown", { command: "MAIL FROM" }), false);
  t.equal(refuses("550 5.1.1 User unknown", { code: "EAUTH" }), false);
});

t.test("a server in trouble is not taken for a mailbox that waits", async (t) => {
  for (const response of [
    "450 4.2.0 <an@example.com>: Recipient address rejected: Greylisted",
    "451 4.7.1 Greylisting in action, please come back later",
    "452 4.2.2 Mailbox full",
    "450 4.1.2 Domain not found",
    "450 Please try again",
  ]) {
    t.equal(delaysRecipient(errorOf(response)), true, response);
  }
  for (const response of [
    "421 4.3.2 Service shutting down",
    "421 Too many connections",
    "451 4.3.0 <an@example.com>: Temporary lookup failure",
    "454 4.7.1 Relay access denied",
    "451 4.4.1 Cannot reach the relay",
    "451 4.7.500 Server busy",
    "550 5.1.1 User unknown",
  ]) {
    t.equal(delaysRecipient(errorOf(response)), false, response);
  }
});
