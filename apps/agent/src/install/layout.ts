/** Where the agent is on a machine. Settings are the operator's: they are made once and never written again. */
export const LAYOUT = {
  /** The unit runs this one; it is replaced by a rename. */
  binary: "/opt/kule-agent/bin/kule-agent",
  /** Of the operator's shell. */
  command: "/usr/local/bin/kule-agent",
  user: "/etc/sysusers.d/kule-agent.conf",
  unit: "/etc/systemd/system/kule-agent.service",
  /** The unit starts with the machine. */
  wanted: "/etc/systemd/system/multi-user.target.wants/kule-agent.service",
  settings: "/etc/kule",
  environment: "/etc/kule/agent.env",
  region: "/etc/kule/region.yaml",
  /** Of a control plane whose certificate is of a private authority. */
  authority: "/etc/kule/control-plane-ca.pem",
  state: "/var/lib/kule-agent",
} as const;

export const USER = "kule-agent";
