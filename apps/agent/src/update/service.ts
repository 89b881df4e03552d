// The agent's service as systemd runs it.

import { execFileSync } from "node:child_process";
import { USER } from "../install/layout.ts";
import type { ServiceSight } from "./watch.ts";

export type Service = {
  /** Starts it, or what its link leads to now in the place of what runs. What comes of that is seen by looking. */
  restart(): void;
  sight(): ServiceSight;
};

const PROPERTIES = ["ActiveState", "SubState", "Result", "MainPID", "NRestarts", "ExecMainStatus"] as const;

type Properties = Readonly<Record<(typeof PROPERTIES)[number], string>>;

export const systemdService: Service = {
  restart: () => {
    // It counts restarts from here on.
    systemctl("reset-failed", USER);
    systemctl("restart", USER);
  },
  sight: () => {
    const { output } = systemctl("show", USER, `--property=${PROPERTIES.join(",")}`);
    return sightOf(propertiesOf(output));
  },
};

/** Never throws for what the program answers: a service that cannot be started is seen by its state. */
function systemctl(...words: readonly string[]): { readonly output: string } {
  try {
    const output = execFileSync("systemctl", words, {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      timeout: 60_000,
    });
    return { output };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") throw error;
    return { output: "" };
  }
}

function propertiesOf(output: string): Properties {
  const given = Object.fromEntries(
    output.split("\n").map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
  return Object.fromEntries(PROPERTIES.map((name) => [name, given[name] ?? ""])) as Properties;
}

export function sightOf({
  ActiveState: active,
  SubState: sub,
  Result: result,
  MainPID: pid,
  NRestarts: restarts,
  ExecMainStatus: status,
}: Properties): ServiceSight {
  const how = `it ended by itself (${result === "success" ? "exit" : result}, status ${status || "?"})`;
  if (active === "failed" || sub.startsWith("auto-restart")) return { kind: "crashed", how };
  if (Number(restarts) > 0)
    return { kind: "crashed", how: `it ended by itself, and systemd started it again ${restarts} times` };
  if (active === "inactive")
    return result === "success" || result === "" ? { kind: "stopped" } : { kind: "crashed", how };
  if (active === "deactivating" || active === "") return { kind: "stopped" };
  return { kind: "running", pid: Number(pid) };
}
