import { describe, expect, it } from "vitest";
import type * as errors from "./errors.ts";
import { ERROR_TEXTS, errorOfAnswer, errorOfTask } from "./errors.ts";

type Row = [text: string, name: keyof typeof errors, outcome: errors.ErrorOutcome, status?: number];

/** Texts as qemu-server, pve-common, pve-storage and pve-guest-common have them. */
const TEXTS: Row[] = [
  ["Configuration file 'nodes/pve1/qemu-server/20001.conf' does not exist", "ProxmoxNotFound", "permanent"],
  ["unable to find configuration file for VM 20001 on node 'pve2'", "ProxmoxNotFound", "permanent"],
  ["VM is locked (clone)", "ProxmoxLocked", "retryable"],
  ["VM is locked (snapshot-delete)", "ProxmoxLocked", "retryable"],
  ["can't lock file '/var/lock/qemu-server/lock-20001.conf' - got timeout", "ProxmoxBusy", "retryable"],
  ["can't lock file '/var/lock/pve-manager/pve-storage-local' - got timeout", "ProxmoxBusy", "retryable"],
  ["cfs-lock 'storage-ceph-vm' error: got lock request timeout", "ProxmoxBusy", "retryable"],
  ["'storage-ceph-vm'-locked command timed out - aborting", "ProxmoxBusy", "retryable"],
  ["checksum mismatch (file change by other user?)", "ProxmoxConflict", "retryable"],
  [
    "detected modified configuration - file changed by other user? Try again.",
    "ProxmoxConflict",
    "retryable",
  ],
  [
    "Parameter verification failed.; name: IPSet 'ipfilter-net0' already exists",
    "ProxmoxConflict",
    "retryable",
    400,
  ],
  [
    "Parameter verification failed.; cidr: address '10.20.0.5' already exists",
    "ProxmoxConflict",
    "retryable",
    400,
  ],
  ["no such IPSet 'kule-10bdc241c142b6a1'", "ProxmoxNoSuchSet", "retryable"],
  ["no rule at position 99", "ProxmoxConflict", "retryable"],
  ["Parameter verification failed.; source: no such ipset 'kule-1'", "ProxmoxConflict", "retryable", 400],
  ["Parameter verification failed.; cidr: no such IP/Network", "ProxmoxConflict", "retryable", 400],
  ["unable to create VM 20001: config file already exists", "ProxmoxExists", "permanent"],
  ["unable to create VM 20001 - VM 20001 already exists on node 'pve2'", "ProxmoxExists", "permanent"],
  ["Parameter verification failed.; vmid: VM 20001 already exists", "ProxmoxExists", "permanent", 400],
  [
    "close (rename) atomic file '/etc/pve/nodes/pve1/qemu-server/20001.conf' failed: File exists",
    "ProxmoxExists",
    "permanent",
  ],
  ["VM 20001 already running", "ProxmoxAlready", "permanent"],
  ["VM 20001 not running", "ProxmoxAlready", "permanent"],
  ["you can't convert a template to a template", "ProxmoxAlready", "permanent"],
  ["shrinking disks is not supported", "ProxmoxAlready", "permanent"],
  ["VM quit/powerdown failed - got timeout", "ProxmoxGuestIgnores", "permanent"],
  ["VM is paused - cannot shutdown", "ProxmoxGuestIgnores", "permanent"],
  ["VM 20001 is running - destroy failed", "ProxmoxRunning", "retryable"],
  ["can't remove VM 20001 - protection mode enabled", "ProxmoxProtected", "permanent"],
  ["cluster not ready - no quorum?", "ProxmoxQuorum", "retryable"],
  ["cfs-lock 'file-user_cfg' error: no quorum!", "ProxmoxQuorum", "retryable"],
  ["pve cluster filesystem not online.", "ProxmoxQuorum", "retryable"],
  ["QEMU guest agent is not running", "ProxmoxAgentUnavailable", "retryable"],
  ["No QEMU guest agent configured", "ProxmoxAgentUnavailable", "retryable"],
  ["VM 20001 is not running", "ProxmoxAgentUnavailable", "retryable"],
  ["VM 20001 qmp command 'guest-ping' failed - got timeout", "ProxmoxAgentUnavailable", "retryable"],
  ["Agent error: Command guest-foo has been disabled", "ProxmoxAgentUnavailable", "retryable"],
  ["clone failed: copy failed: no space left on device", "ProxmoxCapacity", "permanent"],
  [
    "lvcreate 'pve/vm-20001-disk-0' error: Volume group has insufficient free space",
    "ProxmoxCapacity",
    "permanent",
  ],
  ["got no worker upid - start worker failed", "ProxmoxWorkerUnavailable", "retryable"],
  ["unable to fork worker - Resource temporarily unavailable", "ProxmoxWorkerUnavailable", "retryable"],
  [
    "command '/usr/bin/qemu-img resize -f qcow2 /x.qcow2 42949672960' failed: got timeout",
    "ProxmoxBusy",
    "retryable",
  ],
  ["no such task", "ProxmoxTaskLost", "unknown", 400],
  [
    "base volume 'local-lvm:base-9000-disk-0' is still in use by linked cloned",
    "ProxmoxFailure",
    "permanent",
  ],
  ["only root can set 'args' config", "ProxmoxForbidden", "permanent"],
];

describe("The texts of Proxmox", () => {
  it.each(TEXTS)("%s is %s (%s)", (text, name, outcome, status = 500) => {
    const error = errorOfAnswer({ call: "POST /x", status, text, write: true });
    expect([error.name, error.outcome]).toEqual([name, outcome]);
  });

  it.each(TEXTS.filter(([, , , status]) => status === undefined))(
    "%s means the same as the end of a task",
    (text, name) => {
      expect(errorOfTask({ upid: "U", label: "qmx 1", exitStatus: text, logTail: [] }).name).toBe(name);
    },
  );

  it("are all in this test: every row of the table is proven", () => {
    const tasks = [
      "unexpected status",
      "unable to get last line from task log - x",
      "tls_process_server_certificate: certificate verify failed",
    ];
    const samples = [...TEXTS.map(([text]) => text), ...tasks];
    for (const { pattern } of ERROR_TEXTS)
      expect(
        samples.some((text) => pattern.test(text)),
        String(pattern),
      ).toBe(true);
  });
});

describe("The status of an answer", () => {
  it.each([
    [400, "ProxmoxBadRequest", "permanent", "permanent"],
    [401, "ProxmoxUnauthorized", "retryable", "retryable"],
    [403, "ProxmoxForbidden", "permanent", "permanent"],
    [501, "ProxmoxUnsupported", "permanent", "permanent"],
    [595, "ProxmoxNodeUnreachable", "retryable", "unknown"],
    [596, null, "retryable", "unknown"],
    [599, null, "retryable", "unknown"],
    [502, null, "retryable", "unknown"],
    [500, "ProxmoxFailure", "retryable", "retryable"],
  ] as const)("%i on a read and on a change", (status, name, reading, changing) => {
    const read = errorOfAnswer({ call: "GET /x", status, text: "text of no row", write: false });
    const change = errorOfAnswer({ call: "POST /x", status, text: "text of no row", write: true });
    expect([read.outcome, change.outcome]).toEqual([reading, changing]);
    expect(read.name).toBe(name ?? "ProxmoxNodeUnreachable");
    expect(change.name).toBe(name ?? "ProxmoxUnknownOutcome");
  });

  it("counts more than words that only look like Proxmox' own", () => {
    expect(
      errorOfAnswer({ call: "POST /x", status: 596, text: "VM 20001 already running", write: true }).outcome,
    ).toBe("unknown");
    expect(errorOfAnswer({ call: "GET /x", status: 403, text: "no such task", write: false }).name).toBe(
      "ProxmoxForbidden",
    );
  });
});

describe("A task that was killed", () => {
  it("has an unknown outcome, and one that failed for an unknown reason a permanent one", () => {
    const end = (exitStatus: string) =>
      errorOfTask({ upid: "U", label: "qmclone 9000", exitStatus, logTail: ["the reason"] });
    expect([end("unexpected status").name, end("unexpected status").outcome]).toEqual([
      "ProxmoxTaskLost",
      "unknown",
    ]);
    expect([end("start failed: QEMU exited with code 1").outcome, end("x").facts.task?.logTail]).toEqual([
      "permanent",
      ["the reason"],
    ]);
  });
});
