import { execFile } from "node:child_process";
import { promisify } from "node:util";

export interface SeededAccount {
  email: string;
  password: string;
}

/** The output of the seed of apps/api: the accounts and tokens of a new installation. */
export interface Seeded {
  operator_token: string;
  organisation_token: string;
  agent_token: string;
  organisation_id: string;
  /** Slug of the region that the lab is. */
  region: string;
  users: { operator: SeededAccount; organisation: SeededAccount };
}

/**
 * Runs the API's seed, which creates an operator, an organisation, the lab region and their tokens, or finds
 * them. Tokens are stored only as hashes, so `keptFile` passes it those of an earlier start to keep.
 */
export async function runSeed(
  bundle: string,
  keptFile: string,
  mode: "agent" | "direct",
  env: Record<string, string>,
  signal: AbortSignal,
): Promise<Seeded> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [bundle, "seed", "--keep", keptFile, "--mode", mode],
    { env, signal, maxBuffer: 1_000_000 },
  );
  const line = stdout.trim().split("\n").at(-1) ?? "";
  return JSON.parse(line) as Seeded;
}
