// Whose VM this is. The line goes into the description of the clone call: it is the earliest mark that a VM can
// carry, since tags can only be set when the clone's lock is gone.

export type VmMarker = {
  readonly serverId: string;
  readonly organisationId: string;
  readonly region: string;
  /**
   * The job that created the VM. Information only: another job of the same server owns the VM just as well.
   */
  readonly jobId: string;
};

const LINE = /^kule:v1 srv=(\S+) org=(\S+) region=(\S+) job=(\S+)$/;

/** One line, to be put into the description. Throws on a value that could not be read back. */
export function renderMarker(marker: VmMarker): string {
  const line = `kule:v1 srv=${marker.serverId} org=${marker.organisationId} region=${marker.region} job=${marker.jobId}`;
  if (!LINE.test(line)) throw new TypeError(`these values cannot form a marker: ${line}`);
  return line;
}

/** The marker in a VM's description, or null. Two markers count as none: it is not known whose VM that is. */
export function parseMarker(description: string | undefined): VmMarker | null {
  const found = (description ?? "").split(/\r?\n/).flatMap((line) => {
    const match = LINE.exec(line.trim());
    return match ? [match] : [];
  });
  const [match] = found;
  if (!match || found.length > 1) return null;
  const [, serverId = "", organisationId = "", region = "", jobId = ""] = match;
  return { serverId, organisationId, region, jobId };
}

/** The description without the lines that mark the VM for this server. */
export function withoutMarker(description: string, serverId: string): string {
  return description
    .split(/\r?\n/)
    .filter((line) => LINE.exec(line.trim())?.[1] !== serverId)
    .join("\n");
}
