import { call as callLab } from "@kule/lab/api-client";
import type { LocalScene } from "../job-kinds/local-scene.ts";

/** A server of the region with a public address, which is changed manually. */
export type Victim = { readonly server: string; readonly organisation: string; readonly vmid: number };

/** A manual change at the hypervisor, and what Kule must report of it. */
export type ManualChange = {
  readonly name: string;
  /** The kind of the reported drift; `power` is followed and not drift. */
  readonly kind: "changed" | "missing" | "foreign" | "extra" | "power";
  /** What the differences must name; left out for a kind without any. */
  readonly field?: RegExp;
  /** At which number it is reported; the victim's by default. */
  readonly at?: (victim: Victim) => number;
  /** It cannot be reverted: the row continues without the victim. */
  readonly isFinal?: true;
  /** A size, which an operation that puts a VM right leaves as it is. */
  readonly isLeft?: true;
  /** It is another server's by its marker: no operation of this one touches it. */
  readonly isAnothers?: true;
  apply(scene: LocalScene, victim: Victim): Promise<Undo>;
};

type Undo = () => Promise<void>;

const configOf = (scene: LocalScene, vmid: number): Readonly<Record<string, string>> => {
  const config = scene.lab.lab.control.vm(vmid)?.config;
  if (config === undefined) throw new Error(`there is no VM ${vmid}`);
  return config;
};

/** Edits the VM as the web interface would, and restores its former config afterwards. */
function edited(
  name: string,
  field: RegExp,
  set: (config: Readonly<Record<string, string>>, victim: Victim) => Record<string, string>,
  remove: readonly string[] = [],
): ManualChange {
  return {
    name,
    kind: "changed",
    field,
    async apply(scene, victim) {
      const before = { ...configOf(scene, victim.vmid) };
      const changes = set(before, victim);
      await scene.changeOutsideKule("editConfig", victim.vmid, changes, remove);
      const added = Object.keys(changes).filter((key) => !(key in before));
      return () => scene.changeOutsideKule("editConfig", victim.vmid, before, added);
    },
  };
}

function loosened(name: string, field: RegExp, apply: ManualChange["apply"]): ManualChange {
  return { name, kind: "changed", field, apply };
}

const strangerVmid = 29_500;
const extraVmid = 29_501;
const elsewhereVmid = 29_502;

const marker = (server: string, organisation: string, region: string) =>
  `kule:v1 srv=${server} org=${organisation} region=${region} job=job_x`;

/** A VM that was created manually, with this in its description. */
function made(name: string, kind: "foreign" | "extra", vmid: number, describe: (victim: Victim) => string) {
  return {
    name,
    kind,
    at: () => vmid,
    async apply(scene: LocalScene, victim: Victim) {
      await scene.changeOutsideKule("stealVmid", vmid);
      const description = describe(victim);
      if (description !== "")
        await scene.changeOutsideKule("editConfig", vmid, {
          description,
          tags: `kule;${victim.organisation}`,
        });
      return () => scene.changeOutsideKule("deleteVm", vmid);
    },
  } as const satisfies ManualChange;
}

/** Every way in which a region can differ from the records. The last two end the victim's VM. */
export const MANUAL_CHANGES: readonly ManualChange[] = [
  edited("renamed", /^name$/, () => ({ name: "somebody-elses-name" })),
  edited("re-tagged", /^tags$/, () => ({ tags: "kule;mine" })),
  { ...edited("given more CPUs", /^vcpu$/, () => ({ cores: "9" })), isLeft: true },
  { ...edited("given less memory", /^memory_mb$/, () => ({ memory: "256" })), isLeft: true },
  {
    ...edited("marked for another server", /^marker$/, (_, { organisation }) => ({
      description: marker("srv_another", organisation, "lab1"),
    })),
    isAnothers: true,
  },
  edited("without its marker", /^marker$/, () => ({ description: "mine now" })),
  edited("given another MAC", /^interface 0 mac$/, ({ net0 = "" }) => ({
    net0: net0.replace(/=[0-9A-F:]{17}/i, "=0E:00:00:00:00:01"),
  })),
  edited("moved to another VLAN", /^interface 0 vlan$/, ({ net0 = "" }) => ({
    net0: net0.replace(/tag=\d+/, "tag=4001"),
  })),
  edited("with its private interface's firewall off", /^interface 0 firewall$/, ({ net0 = "" }) => ({
    net0: net0.replace("firewall=1", "firewall=0"),
  })),
  edited("with its private interface's cable out", /^interface 0 link$/, ({ net0 = "" }) => ({
    net0: `${net0},link_down=1`,
  })),
  edited("with a limit on its private interface", /^interface 0 rate$/, ({ net0 = "" }) => ({
    net0: `${net0},rate=2`,
  })),
  edited("let into other VLANs", /^interface 0 trunks$/, ({ net0 = "" }) => ({ net0: `${net0},trunks=5;6` })),
  loosened("taken out of its pool", /^pool$/, async (scene, { vmid, organisation }) => {
    await scene.changeOutsideKule("leavePool", vmid);
    const form = { poolid: `kule-${organisation}`, vms: vmid };
    return async () => {
      await callLab(scene.lab.lab, "PUT /pools", { form, as: "operator" });
    };
  }),
  edited("given an interface that Kule does not know", /^interface 5$/, () => ({
    net5: "virtio=0E:00:00:00:00:05,bridge=vmbr0",
  })),
  edited("without its public interface", /^interface 1$/, () => ({}), ["net1"]),
  edited("with its public interface on another bridge", /^interface 1 bridge$/, ({ net1 = "" }) => ({
    net1: net1.replace("bridge=vmbr0", "bridge=vmbr1"),
  })),
  edited("with its public interface in another VLAN", /^interface 1 vlan$/, ({ net1 = "" }) => ({
    net1: net1.replace(/tag=\d+/, "tag=4002"),
  })),
  edited("with its public interface's firewall off", /^interface 1 firewall$/, ({ net1 = "" }) => ({
    net1: net1.replace("firewall=1", "firewall=0"),
  })),
  loosened("with its IP filter off", /^firewall ipfilter$/, async (scene, { vmid }) => {
    await scene.callAsOperator("PUT", vmid, "firewall/options", { ipfilter: 0 });
    return () => scene.callAsOperator("PUT", vmid, "firewall/options", { ipfilter: 1 });
  }),
  loosened("allowed another's address", /^interface 1 addresses$/, async (scene, { vmid }) => {
    const sets = "firewall/ipset/ipfilter-net1";
    await scene.callAsOperator("POST", vmid, sets, { cidr: "192.0.2.66" });
    return () => scene.callAsOperator("DELETE", vmid, `${sets}/192.0.2.66`);
  }),
  loosened("given a rule by hand", /^firewall rules$/, async (scene, { vmid }) => {
    await scene.callAsOperator("POST", vmid, "firewall/rules", { type: "in", action: "ACCEPT", enable: 1 });
    return () => scene.callAsOperator("DELETE", vmid, "firewall/rules/0");
  }),
  loosened("with another policy", /^firewall policy_out$/, async (scene, { vmid }) => {
    await scene.callAsOperator("PUT", vmid, "firewall/options", { policy_out: "DROP" });
    return () => scene.callAsOperator("PUT", vmid, "firewall/options", { policy_out: "ACCEPT" });
  }),
  made("a stranger at one of our numbers", "foreign", strangerVmid, () => ""),
  made("a VM with our marker at a number of no server", "extra", extraVmid, (victim) =>
    marker(victim.server, victim.organisation, "lab1"),
  ),
  made("a VM of another region at one of our numbers", "foreign", elsewhereVmid, (victim) =>
    marker(victim.server, victim.organisation, "lab9"),
  ),
  {
    name: "powered off",
    kind: "power",
    async apply(scene, { vmid }) {
      await scene.changeOutsideKule("setPower", vmid, false);
      return () => scene.changeOutsideKule("setPower", vmid, true);
    },
  },
  {
    name: "deleted",
    kind: "missing",
    isFinal: true,
    async apply(scene, { vmid }) {
      await scene.changeOutsideKule("deleteVm", vmid);
      return async () => {};
    },
  },
  {
    name: "replaced by a stranger",
    kind: "changed",
    field: /^marker$/,
    isFinal: true,
    async apply(scene, { vmid }) {
      await scene.changeOutsideKule("stealVmid", vmid);
      return async () => {};
    },
  },
];
