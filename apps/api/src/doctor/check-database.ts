import pg, { type Client } from "pg";
import { advice, type Finding, good, wordsOf, wrong } from "./finding.ts";

/** The oldest version that Kule's statements are tested with. */
const oldestVersion = 15;
const patienceMs = 5_000;

export type OpenedDatabase = {
  /** Null when it cannot be used; the findings say why. */
  readonly client: Client | null;
  readonly findings: Finding[];
};

/** Connects once, with a role's own URL. The caller ends the client. */
export async function openForDoctor(
  check: string,
  variable: string,
  url: string | undefined,
): Promise<OpenedDatabase> {
  if (url === undefined || url === "")
    return {
      client: null,
      findings: [
        wrong(check, `${variable} is not set`, "set it, without a password, and that of its role in a file"),
      ],
    };
  const client = new pg.Client({
    connectionString: url,
    application_name: "kule-doctor",
    connectionTimeoutMillis: patienceMs,
    query_timeout: 2 * patienceMs,
    statement_timeout: 2 * patienceMs,
  });
  // A connection that breaks meanwhile is reported by the statement that needs it.
  client.on("error", () => {});
  try {
    await client.connect();
    return { client, findings: [...(await checkServer(client, check)), ...(await checkDurability(client))] };
  } catch (error) {
    await client.end().catch(() => {});
    return {
      client: null,
      findings: [wrong(check, `${placeOf(url)}: ${wordsOf(error)}`, wayOut(error, variable))],
    };
  }
}

async function checkServer(client: Client, check: string): Promise<Finding[]> {
  const { rows } = await client.query<{
    version: string;
    number: number;
    encoding: string;
    in_recovery: boolean;
  }>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::integer as number,
            current_setting('server_encoding') as encoding, pg_is_in_recovery() as in_recovery`,
  );
  const [found] = rows;
  if (found === undefined) throw new Error("Postgres answers nothing");
  const { host, port, database } = client;
  const name = `PostgreSQL ${found.version} at ${host}:${port}/${database ?? ""}`;
  if (found.number < oldestVersion * 10_000)
    return [wrong(check, `${name} is too old`, `upgrade it to PostgreSQL ${oldestVersion} or newer`)];
  if (found.in_recovery)
    return [
      wrong(
        check,
        `${name} is a standby, which takes no writes`,
        "name the primary in the URL, or its address that follows it",
      ),
    ];
  if (found.encoding !== "UTF8")
    return [
      wrong(check, `${name} has the encoding ${found.encoding}`, "create the database with encoding UTF8"),
    ];
  return [good(check, name)];
}

/** What is answered with 2xx must survive the loss of power. */
async function checkDurability(client: Client): Promise<Finding[]> {
  const { rows } = await client.query<{ name: string; setting: string }>(
    `select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit') order by name`,
  );
  const off = rows.filter(({ setting }) => setting === "off").map(({ name }) => name);
  if (off.length === 0) return [];
  const found = `${off.join(" and ")} off: what was answered can be lost when the machine loses power`;
  const fix = `switch it on: alter system reset ${off[0]}; select pg_reload_conf(); and look whether the database or the role has a setting of its own (\\drds in psql)`;
  return [
    off.includes("synchronous_commit") && off.length === 1
      ? advice("durability", found, fix)
      : wrong("durability", found, fix),
  ];
}

/** Without its password. */
function placeOf(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null) return "the URL cannot be read";
  return `${decodeURIComponent(parsed.username)}@${parsed.host}${parsed.pathname}`;
}

function wayOut(error: unknown, variable: string): string {
  const code = String((error as { readonly code?: unknown }).code ?? "");
  switch (code) {
    case "28P01":
    case "28000":
      return `the role or its password is not accepted: \`kule-server migrate\` sets the passwords of kule_api and kule_worker; a line of pg_hba.conf must allow this machine`;
    case "3D000":
      return `create the database, then run \`kule-server migrate\``;
    case "53300":
      return "all connections are taken: raise max_connections of Postgres, or lower KULE_DATABASE_POOL_SIZE";
    case "42501":
      return "grant connect on the database to the role; `kule-server migrate` does it";
    default:
      return `check that Postgres runs, that it listens at this address (listen_addresses), and ${variable}`;
  }
}
