import type { Services } from "../../core/plugin/index.ts";

type Database = Services["database"];

/** The maintenance state, and the message for clients. */
export interface Maintenance {
  readonly enabled: boolean;
  readonly message: string | null;
  /** When maintenance was last switched on or off. */
  readonly since: Date;
}

export async function readMaintenance(database: Database): Promise<Maintenance> {
  return only(await database.query("select enabled, message, since from maintenance"));
}

/** Writes the state. `since` changes only if `enabled` does. */
export async function writeMaintenance(
  database: Database,
  { enabled, message }: Pick<Maintenance, "enabled" | "message">,
): Promise<Maintenance> {
  const rows = await database.query<Maintenance>(
    `update maintenance
    set enabled = $1, message = $2, since = case when enabled = $1 then since else now() end
    returning enabled, message, since`,
    [enabled, message],
  );
  return only(rows);
}

/** The state that this process applies: the later of its own last switch and its last read. */
export class KnownMaintenance {
  private switches = 0;

  constructor(
    private readonly database: Database,
    private readonly onChange: (now: Maintenance) => void,
  ) {}

  /** Applies a switch by this process. */
  switched(now: Maintenance): void {
    this.switches += 1;
    this.onChange(now);
  }

  /** Reads the state, which another process may have switched. Ignores a read that began before a switch here. */
  async refresh(): Promise<void> {
    const before = this.switches;
    const read = await readMaintenance(this.database);
    if (this.switches === before) this.onChange(read);
  }
}

function only([row]: Maintenance[]): Maintenance {
  if (!row) throw new Error("the table maintenance has no row; insert the one from its migration");
  return row;
}
