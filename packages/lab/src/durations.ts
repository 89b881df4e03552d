/** How long operations take, in simulated seconds, on an average cluster. */
export const seconds = {
  /** Reading a config and forking. */
  configWrite: 0.05,
  allocateVolume: 0.4,
  /** A full clone, per GiB of the source. */
  fullClonePerGib: 0.4,
  linkedClone: 0.5,
  start: 1.5,
  stop: 0.8,
  /** A guest that listens: until it is down. */
  guestShutdown: 6,
  reset: 0.2,
  freeVolume: 0.5,
  resize: 0.4,
  regenerateCloudInit: 0.3,
  migrate: 4,
  template: 1,
  /** From power on until the guest has its addresses: some time before its agent answers. */
  networkBootLinux: 3,
  networkBootWindows: 30,
  /** From power on until the guest agent answers. */
  agentBootLinux: 18,
  agentBootWindows: 90,
  /** From power on until cloud-init has done all it has to. */
  cloudInitLinux: 30,
  /** qmeventd starts a VM again after a reboot task has ended. */
  rebootRestart: 1,
} as const;
