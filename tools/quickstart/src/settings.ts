import { resolve } from "node:path";
import { parseArgs } from "node:util";

export interface Settings {
  /** Absolute directory of everything: data, secrets, logs. */
  home: string;
  apiPort: number;
  consolePort: number;
  labPort: number;
  /** UDP and TCP, of the lab's name servers. */
  labDnsPort: number;
  /** An external Postgres to use instead of the embedded one. */
  databaseUrl: string | undefined;
  /** Where the providers of sign-ins are written down; without it people sign in with their password. */
  oidcFile: string | undefined;
  /** Which mail server sends links for lost passwords; without it nothing is mailed. */
  mailFile: string | undefined;
  /** How long the simulated hypervisor takes: 1 is lifelike, 0 immediate. */
  labTimeScale: number;
  /** Whether stacks in the logs name lines of the source: it doubles the time and memory of a start. */
  sourceMaps: boolean;
  /** How long a deleted server can be brought back. */
  removalBufferSeconds: number;
  /** Whether servers with the image debian-12 really boot. */
  realGuests: boolean;
  /** What drives the lab: an agent, or the control plane's worker. */
  mode: "agent" | "direct";
}

/** A setting of the environment has no usable value; the message names it. */
export class SettingsError extends Error {
  override name = "SettingsError";
}

/**
 * Reads the settings of `npm start`. Relative paths count from `workingDir`; `options` are `--mode agent|direct` and `--real-guests`.
 *
 * @throws SettingsError naming every variable that is wrong.
 */
export function readSettings(
  env: NodeJS.ProcessEnv,
  workingDir: string,
  options: readonly string[] = [],
): Settings {
  const faults: string[] = [];
  const number = (
    name: string,
    fallback: number,
    accepts: (value: number) => boolean,
    rule: string,
  ): number => {
    const text = env[name];
    if (text === undefined || text === "") return fallback;
    const value = Number(text);
    if (text.trim() !== "" && accepts(value)) return value;
    faults.push(`${name} must be ${rule}, not ${JSON.stringify(text)}`);
    return fallback;
  };
  const isPort = (value: number) => Number.isInteger(value) && value >= 1 && value <= 65535;
  const port = (name: string, fallback: number) => number(name, fallback, isPort, "a port from 1 to 65535");
  const settings: Settings = {
    ...readOptions(options, faults),
    home: resolve(workingDir, env.KULE_HOME || ".kule"),
    sourceMaps: env.KULE_SOURCE_MAPS === "1",
    apiPort: port("KULE_API_PORT", 8080),
    consolePort: port("KULE_CONSOLE_PORT", 3000),
    labPort: port("KULE_LAB_PORT", 8006),
    labDnsPort: port("KULE_LAB_DNS_PORT", 5300),
    databaseUrl: env.DATABASE_URL || undefined,
    oidcFile: env.KULE_OIDC_FILE ? resolve(workingDir, env.KULE_OIDC_FILE) : undefined,
    mailFile: env.KULE_MAIL_FILE ? resolve(workingDir, env.KULE_MAIL_FILE) : undefined,
    labTimeScale: number("KULE_LAB_TIME_SCALE", 0.2, (value) => value >= 0 && value <= 100, "from 0 to 100"),
    removalBufferSeconds: number(
      "KULE_REMOVAL_BUFFER_SECONDS",
      259_200,
      (value) => Number.isInteger(value) && value >= 0,
      "a whole number of seconds",
    ),
  };
  const ports = [settings.apiPort, settings.consolePort, settings.labPort, settings.labDnsPort];
  if (faults.length === 0 && new Set(ports).size < ports.length) {
    faults.push("KULE_API_PORT, KULE_CONSOLE_PORT, KULE_LAB_PORT and KULE_LAB_DNS_PORT must differ");
  }
  if (faults.length > 0) throw new SettingsError(faults.join("\n"));
  return settings;
}

function readOptions(options: readonly string[], faults: string[]): Pick<Settings, "mode" | "realGuests"> {
  try {
    const { values } = parseArgs({
      args: [...options],
      options: {
        mode: { type: "string", default: "agent" },
        "real-guests": { type: "boolean", default: false },
      },
    });
    const realGuests = values["real-guests"];
    if (values.mode === "agent" || values.mode === "direct") return { mode: values.mode, realGuests };
    faults.push(`--mode must be agent or direct, not ${JSON.stringify(values.mode)}`);
  } catch (error) {
    faults.push(error instanceof Error ? error.message : String(error));
  }
  return { mode: "agent", realGuests: false };
}
