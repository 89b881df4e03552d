/** Where the agent is on a machine. Settings are the operator's: they are made once and never written again. */
export const LAYOUT = {
  /** The unit runs this one: a link to the binary of the version that is in use, replaced by a rename. */
  binary: "/opt/kule-agent/bin/kule-agent",
  /** A folder for each version, with its binary. */
  versions: "/opt/kule-agent/versions",
  /** A link to the last version that has proven itself: it updates the agent, and takes an update back. */
  updater: "/opt/kule-agent/updater",
  /** What root remembers of updates; the agent reads it. */
  update: "/opt/kule-agent/update",
  /** Of the operator's shell. */
  command: "/usr/local/bin/kule-agent",
  user: "/etc/sysusers.d/kule-agent.conf",
  unit: "/etc/systemd/system/kule-agent.service",
  /** The unit starts with the machine. */
  wanted: "/etc/systemd/system/multi-user.target.wants/kule-agent.service",
  updateUnit: "/etc/systemd/system/kule-agent-update.service",
  /** Starts the updater when the agent asks for it, and from time to time. */
  updatePath: "/etc/systemd/system/kule-agent-update.path",
  updateTimer: "/etc/systemd/system/kule-agent-update.timer",
  updatePathWanted: "/etc/systemd/system/multi-user.target.wants/kule-agent-update.path",
  updateTimerWanted: "/etc/systemd/system/timers.target.wants/kule-agent-update.timer",
  settings: "/etc/kule",
  environment: "/etc/kule/agent.env",
  region: "/etc/kule/region.yaml",
  /** Of a control plane whose certificate is of a private authority. */
  authority: "/etc/kule/control-plane-ca.pem",
  state: "/var/lib/kule-agent",
} as const;

export const USER = "kule-agent";

/** Of the agent, in a version's folder and in the one of its link. */
export const BINARY_NAME = "kule-agent";

/** In the agent's state folder: what it has downloaded, and what it asks the updater for. */
export const UPDATE_FOLDER = "update";
