/** Why the gateway refuses a change, in English. */
export const refusals = {
  "error.wrong_credentials": "Wrong email or password.",
  "error.wrong_code": "The code is wrong or was used before. Wait for the next one.",
  "error.wrong_password": "The password is wrong.",
  "error.invalid_token": "This link was used, or has expired. Ask an owner for a new one.",
  "error.role_forbids": "Your role does not allow this.",
  "error.own_approval": "You have asked for it yourself: another person must approve it.",
  "error.approvals_full": "Too many movements wait for a second person. Decide some first.",
  "error.approval_failed":
    "It is approved, but was not made. Its note, under the state Failed, says why.",
  "error.approval_decided": "It is decided already, or has waited for too long.",
  "error.reference_conflict":
    "This reference was used for another account or amount. Nothing has changed.",
  "error.email_taken": "Someone has this address already.",
  "error.transfer_not_credited": "Only a credited transfer can be reversed.",
  "error.transfer_not_creditable":
    "The bank’s notification has no incoming amount. Credit the customer, then ignore the transfer.",
  "error.transfer_not_unmatched":
    "The transfer does not wait for an owner any more. Another person may have decided.",
  "error.credit_refused": "The wallet does not take it. The transfer stays without an owner.",
  "error.below_zero":
    "Nothing is available to take: the customer has spent all of it, or calls that run hold it. Nothing has changed.",
  "error.held_by_calls":
    "Calls that run hold all that is left. Nothing has changed; try again once they have ended.",
  "error.out_of_range": "The balance would exceed the most that a wallet can hold.",
  "refused.only": "The wallet has only {amount} available. Nothing has changed.",
  "refused.cause": "It was only {amount} in all. Nothing has changed; use at most that.",
  "refused.before":
    "{amount} of it were corrected before. Nothing has changed; the amount is that of all corrections, so use at least that.",
};
