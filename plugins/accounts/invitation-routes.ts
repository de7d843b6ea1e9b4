import {
  type Command,
  day,
  done,
  endOfDay,
  isId,
  line,
  mapping,
  type OperatorRoute,
  reading,
  refuse,
  rowLimit,
  v,
  whole,
} from "../../core/plugin/index.ts";
import type { AccountContext } from "./account-context.ts";
import type { Invitation } from "./invitations.ts";

const USES = "a whole number of sign-ups from 1 to 10000";
const BEFORE = "the id of the last invitation of the previous page";
const VALID_MS_DEFAULT = 30 * 24 * 3_600_000;

const newInvitation = mapping({
  uses: v.optional(whole(1, 10_000, USES), 1),
  until: v.optional(day()),
  note: v.optional(line(200, "a note of 1 to 200 characters on one line")),
});

const page = mapping({
  limit: rowLimit(),
  before: v.optional(v.pipe(v.string(BEFORE), v.check(isId, BEFORE))),
});

/** Commands for invitations, which plugins/admin shows to operators. */
export const invitationCommands: readonly Command[] = [
  {
    words: "invite create",
    about:
      "make a code with which people sign up; shown only once. A sign-up needs one if accounts.sign_up is `invited`",
    method: "POST",
    path: "/admin/v1/invitations",
    options: [
      {
        name: "uses",
        value: "N",
        about: "how many can sign up with it; default 1",
        type: "number",
      },
      { name: "until", value: "YYYY-MM-DD", about: "its last day, in Vietnam; default: 30 days" },
      { name: "note", value: "TEXT", about: "for whom, as invite list shows it" },
    ],
  },
  {
    words: "invite list",
    about: "list invitations, newest first, without their codes; all, or up to --limit",
    method: "GET",
    path: "/admin/v1/invitations",
    options: [{ name: "limit", value: "N" }],
    pages: { query: "before", field: "id" },
  },
  {
    words: "invite revoke",
    about: "delete an invitation by its id; accounts that signed up with it stay",
    method: "DELETE",
    path: "/admin/v1/invitations/:invitation",
    options: [
      { name: "invitation", value: "ID", about: "its id, from invite list", required: true },
    ],
  },
];

/** Routes for operators to make, list and revoke invitations. */
export function invitationRoutes(context: AccountContext): OperatorRoute[] {
  const { invitations, services } = context;
  return [
    {
      method: "POST",
      path: "/invitations",
      right: "support",
      handle: reading(newInvitation, async ({ uses, until, note = null }) => {
        const now = services.clock.now();
        const endsAt = until === undefined ? new Date(now + VALID_MS_DEFAULT) : endOfDay(until);
        if (endsAt.getTime() <= now) {
          return refuse.badRequest("until: expected today or a later day.", "until");
        }
        const { code, ...made } = await invitations.create(uses, endsAt, note);
        const link = `${context.publicUrl}/dashboard/sign-up?code=${code}`;
        return done({ code, link, ...invitationJson(made) }, 201);
      }),
    },
    {
      method: "GET",
      path: "/invitations",
      handle: reading(page, async (wanted) => {
        return done((await invitations.list(wanted.limit, wanted.before)).map(invitationJson));
      }),
    },
    {
      method: "DELETE",
      path: "/invitations/:invitation",
      right: "support",
      async handle({ params }) {
        const id = params["invitation"] ?? "";
        if (isId(id) && (await invitations.revoke(id))) return done({ id, revoked: true });
        const message = "There is no such invitation. `invite list` lists all invitations.";
        return refuse.notFound(message, "invitation");
      },
    },
  ];
}

function invitationJson({ id, prefix, note, usesLeft, createdAt, endsAt }: Invitation) {
  return {
    id,
    prefix,
    uses_left: usesLeft,
    ends_at: endsAt.toISOString(),
    created_at: createdAt.toISOString(),
    note,
  };
}
