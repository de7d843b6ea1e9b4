import {
  done,
  formatVnd,
  isId,
  isRefusal,
  line,
  mapping,
  type OperatorRoute,
  oneOf,
  reading,
  rowLimit,
  type Services,
  v,
} from "../../core/plugin/index.ts";
import { type Approval, type Approvals, STATES } from "./approvals.ts";

const page = mapping({
  state: v.optional(oneOf(STATES)),
  before: v.optional(v.pipe(v.string(), v.check(isId, "the id of an approval"))),
  limit: rowLimit(),
});
const refusal = mapping({ reason: line(500, "a reason of 1 to 500 characters on one line") });

/** Routes that list movements which need a second person, and decide them. */
export function approvalRoutes({ accounts }: Services, approvals: Approvals): OperatorRoute[] {
  const subject: OperatorRoute["subject"] = async (params) => {
    const found = await approvals.find(idIn(params));
    if (!found) return undefined;
    const { accountId: account_id, amountMicroVnd, proposedBy: asked_by } = found;
    return { account_id, amount_vnd: formatVnd(amountMicroVnd), asked_by };
  };
  return [
    {
      method: "GET",
      path: "/approvals",
      handle: reading(page, async ({ state, limit, before }, _, operator) => {
        const found = await approvals.list(state, limit, before);
        const ids = found.flatMap(({ accountId }) => accountId ?? []);
        const emails = await accounts.emails([...new Set(ids)]);
        return done(
          found.map((approval) => ({
            ...shown(approval),
            email: emails.get(approval.accountId ?? "") ?? null,
            is_own: approval.proposedPerson === operator.person,
          })),
        );
      }),
    },
    {
      method: "POST",
      path: "/approvals/:approval/approve",
      right: "money",
      subject,
      async handle({ params, remoteAddress }, operator) {
        const decided = await approvals.approve(idIn(params), operator, remoteAddress);
        return isRefusal(decided) ? decided : done(shown(decided));
      },
    },
    {
      method: "POST",
      path: "/approvals/:approval/refuse",
      // All who can ask for a movement can withdraw theirs.
      right: "refund",
      subject,
      handle: reading(refusal, async (wanted, { params }, operator) => {
        const decided = await approvals.refuse(idIn(params), operator, wanted.reason);
        return isRefusal(decided) ? decided : done(shown(decided));
      }),
    },
  ];
}

const NONE = "00000000-0000-0000-0000-000000000000";

function idIn({ approval = "" }: Readonly<Record<string, string>>): string {
  return isId(approval) ? approval : NONE;
}

function shown(approval: Approval) {
  return {
    id: approval.id,
    state: approval.state,
    action: approval.path.split("/").at(-1),
    amount_vnd: formatVnd(approval.amountMicroVnd),
    reference: approval.reference,
    reason: approval.reason,
    proposed_by: approval.proposedBy,
    proposed_at: approval.proposedAt,
    decided_by: approval.decidedBy,
    decided_at: approval.decidedAt,
    note: approval.note,
    account_id: approval.accountId,
    path: approval.path,
  };
}
