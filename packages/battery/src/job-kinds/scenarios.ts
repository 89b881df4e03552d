import type { Answer } from "@kule/api/testing/api-caller";
import type { ServerJobKind } from "@kule/contract/schemas";
import { type JobScene, type Subject, vmidOf } from "./scene.ts";

/** How a job of one kind is caused, and what must hold at its end. */
export type KindScenario = {
  /** The kind whose success leads to the state that this one starts from; null when no server exists yet. */
  readonly after: ServerJobKind | null;
  /** Causes the job as a customer does, or the passing of time. */
  cause(scene: JobScene, subject: Subject): Promise<void>;
  readonly succeeded: {
    readonly status: string;
    readonly vm: "running" | "stopped" | "absent";
    /**
     * What distinguishes it from other servers of its status, because jobs of other kinds take another course
     * with it.
     */
    readonly with?: "a public address" | "another package";
  };
  /**
   * The VM is not Kule's until the job has succeeded: a removal after its failure does not change it, marks
   * included.
   */
  readonly staysWhenRemoved?: true;
  /** The state of a server after the job has failed permanently, and a different one at some steps. */
  readonly failed: {
    readonly status: string;
    readonly reason: string;
    readonly statusAt?: { readonly [step: string]: string };
    /**
     * Steps that another attempt does not reach before it has repeated this one, which then fails in their
     * place.
     */
    readonly repeatsFirst?: { readonly [step: string]: string };
  };
  /**
   * What an owner requests after such a failure where the job itself is not retried, by the status of the
   * server. In every other state the job is retried.
   */
  readonly requestedAgain?: { readonly [status: string]: KindScenario["cause"] };
};

/** A new kind of job without a scenario does not compile: no row of the battery can pass it over. */
export const SCENARIOS: { readonly [Kind in ServerJobKind]: KindScenario } = {
  ServerCreate: {
    after: null,
    async cause(scene, subject) {
      const answer = await subject.api.post("/servers", {
        name: subject.name,
        region: scene.region,
        image: scene.image,
        package: "s",
        firewall_ids: [(await firewallOf(scene, subject)).id],
      });
      subject.server = accepted(answer).server.id;
    },
    succeeded: { status: "running", vm: "running" },
    failed: { status: "error", reason: "create_failed" },
  },
  ServerAdopt: {
    after: null,
    cause: adopt,
    succeeded: { status: "stopped", vm: "stopped" },
    failed: { status: "error", reason: "import_failed" },
    staysWhenRemoved: true,
  },
  ServerStop: {
    after: "ServerCreate",
    cause: async (_, { api, server }) => void accepted(await api.delete(`/servers/${server}`)),
    succeeded: { status: "pending_deletion", vm: "stopped" },
    failed: { status: "pending_deletion", reason: "stop_failed" },
  },
  ServerRestore: {
    after: "ServerStop",
    cause: async (_, { api, server }) => void accepted(await api.post(`/servers/${server}/cancel-deletion`)),
    succeeded: { status: "running", vm: "running" },
    failed: { status: "error", reason: "restore_failed" },
  },
  ServerDestroy: {
    after: "ServerStop",
    cause: (scene, subject) => scene.endBuffer(subject),
    succeeded: { status: "deleted", vm: "absent" },
    failed: { status: "deleting", reason: "destroy_failed" },
  },
  ServerPower: {
    after: "ServerCreate",
    cause: (_, subject) => power(subject, { action: "reboot", force_after: true }),
    succeeded: { status: "running", vm: "running" },
    failed: { status: "running", reason: "power_failed", statusAt: { note: "stopped", start: "stopped" } },
    requestedAgain: {
      running: (_, subject) => power(subject, { action: "reboot", force_after: true }),
      stopped: (_, subject) => power(subject, { action: "start" }),
    },
  },
  ServerResize: {
    after: "ServerCreate",
    cause: (_, subject) => resize(subject),
    succeeded: { status: "running", vm: "running", with: "another package" },
    failed: { status: "running", reason: "resize_failed", statusAt: { start: "stopped" } },
  },
  PublicIpAttach: {
    after: "ServerCreate",
    cause: (scene, subject) => attachAddress(scene, subject),
    succeeded: { status: "running", vm: "running", with: "a public address" },
    failed: { status: "running", reason: "public_ip_failed" },
  },
  PublicIpDetach: {
    after: "PublicIpAttach",
    async cause(_, { api, server }) {
      const { body } = await api.get(`/servers/${server}`);
      accepted(await api.post(`/public-ips/${body.public_ips[0].id}/detach`));
    },
    succeeded: { status: "running", vm: "running" },
    failed: { status: "running", reason: "public_ip_failed" },
  },
  ServerRebuild: {
    after: "ServerCreate",
    cause: (_, subject) => rebuild(subject),
    succeeded: { status: "running", vm: "running" },
    failed: {
      status: "error",
      reason: "rebuild_failed",
      statusAt: { observe: "running", unprotect: "stopped", "turn-off": "running" },
    },
    // Its disk was not touched.
    requestedAgain: { running: (_, subject) => rebuild(subject), stopped: (_, subject) => rebuild(subject) },
  },
  ServerPasswordReset: {
    after: "ServerCreate",
    cause: (_, subject) => resetPassword(subject, "now"),
    succeeded: { status: "running", vm: "running" },
    failed: {
      status: "running",
      reason: "password_reset_failed",
      // Without its note it is not known that the guest was given the password.
      repeatsFirst: { note: "tell-guest" },
    },
    requestedAgain: { running: (_, subject) => resetPassword(subject, "now") },
  },
  ServerUpdate: {
    after: "ServerCreate",
    async cause(_, { api, server }) {
      const { body } = await api.get(`/servers/${server}`);
      const name = body.name.endsWith("-new") ? body.name.slice(0, -4) : `${body.name}-new`;
      accepted(await api.patch(`/servers/${server}`, { name }));
    },
    succeeded: { status: "running", vm: "running" },
    failed: { status: "running", reason: "rename_failed" },
  },
  ServerReconcile: {
    after: "ServerCreate",
    cause: (scene, subject) => reconcile(scene, subject),
    succeeded: { status: "running", vm: "running" },
    failed: { status: "running", reason: "reconcile_failed" },
  },
  FirewallApply: {
    after: "ServerCreate",
    cause: (scene, subject) => changeRules(scene, subject),
    succeeded: { status: "running", vm: "running" },
    failed: { status: "running", reason: "firewall_failed" },
  },
};

/** Makes every manual change of the VM that can be reconciled, and lets an operator reconcile it. */
async function reconcile(scene: JobScene, subject: Subject): Promise<void> {
  const vmid = await vmidOf(scene, subject);
  const vm = (await scene.vms()).find((each) => each.vmid === vmid);
  const { net0 = "" } = vm?.config ?? {};
  await scene.changeOutsideKule("editConfig", vmid, {
    name: "renamed-by-hand",
    // Once, however often it is caused: Proxmox reads no option twice.
    net0: `${net0.replace("firewall=1", "firewall=0").replace(",rate=3", "")},rate=3`,
  });
  await scene.changeOutsideKule("setFirewallOption", vmid, "ipfilter", "0");
  await scene.changeOutsideKule("leavePool", vmid);
  accepted(await subject.api.post(`/servers/${subject.server}/reconcile`));
}

let strangers = 0;

/** A VM that was created manually, in a subnet of the organisation's, and an operator who adopts it. */
async function adopt(scene: JobScene, subject: Subject): Promise<void> {
  strangers += 1;
  // Many of these run at once.
  const stranger = strangers;
  const vmid = 29_999 - stranger;
  const network = await subject.api.post("/networks", { name: "moved", region: scene.region });
  const made = await subject.api.post(`/networks/${network.body.network.id}/subnets`, {
    name: "app",
    tier: "app",
  });
  const { id, cidr } = made.body.subnet;
  const address = cidr.replace(/\.\d+\/\d+$/, ".40");
  const { rows } = await scene.owner.query<{ vlan: number }>(
    "select vlan from region_vlan where region = $1 and subnet_id = $2",
    [scene.region, id],
  );
  await scene.changeOutsideKule("stealVmid", vmid);
  const mac = `0E:AA:00:00:${[stranger >> 8, stranger & 255].map((byte) => byte.toString(16).padStart(2, "0")).join(":")}`;
  await scene.changeOutsideKule("editConfig", vmid, {
    net0: `virtio=${mac.toUpperCase()},bridge=vmbr1,firewall=1,tag=${rows[0]?.vlan}`,
    ipconfig0: `ip=${address}/24`,
    description: "made by hand",
  });
  // As if the last scan of the region were long ago: it found no such VM, and the import would be refused by
  // it.
  await scene.owner.query(
    "update region_inventory set complete_began_at = complete_began_at - interval '1 year' where region = $1",
    [scene.region],
  );
  const answer = await subject.api.post("/servers/import", {
    name: subject.name,
    region: scene.region,
    vmid,
    image: scene.image,
    package: "s",
    subnet_id: id,
    private_ip: address,
  });
  subject.server = accepted(answer).server.id;
  // It is protected from the start; the rows delete what they have created.
  await subject.api.patch(`/servers/${subject.server}`, { protection: { delete: false } });
}

export async function power({ api, server }: Subject, body: object): Promise<void> {
  accepted(await api.post(`/servers/${server}/power`, body));
}

/** With the image that it has: the battery's regions have that one for sure. */
async function rebuild({ api, server }: Subject): Promise<void> {
  const { body } = await api.get(`/servers/${server}`);
  const image = body.image.slug;
  accepted(await api.post(`/servers/${server}/rebuild`, { image, confirm_name: body.name }));
}

/** As the organisation's owner: what is inside of its machines is not for operators. */
export async function resetPassword({ api, server }: Subject, when: "now" | "next_boot"): Promise<void> {
  const minted = await api.post("/tokens", {
    name: `password of ${server}`,
    role: "owner",
    reason: "resets a password",
  });
  if (minted.status !== 201) throw new Error(`${minted.status} ${JSON.stringify(minted.body)}`);
  const owner = api.with({ Authorization: `Bearer ${minted.body.secret}` });
  accepted(await owner.post(`/servers/${server}/password-reset`, { when }));
}

const ruleOf = (port: number) => ({
  protocol: "tcp",
  ports: [String(port)],
  peers: [{ cidr: "192.0.2.0/24" }, { any: true }],
});

/** The subject's own firewall, which is created when it has none. */
async function firewallOf(
  { region }: JobScene,
  { api, name }: Subject,
): Promise<{ readonly id: string; readonly generation: number; readonly rules: readonly { id: string }[] }> {
  const [there] = (await api.get("/firewalls")).body.items;
  if (there !== undefined) return there;
  const made = await api.post("/firewalls", {
    name,
    region,
    rules: [ruleOf(22), { ...ruleOf(80), action: "deny", direction: "out" }],
  });
  if (made.status !== 201) throw new Error(`${made.status} ${JSON.stringify(made.body)}`);
  return made.body.firewall;
}

/** The firewall that the server was created with gets another rule. */
async function changeRules(scene: JobScene, subject: Subject): Promise<void> {
  const there = await firewallOf(scene, subject);
  const rules = [ruleOf(20_000 + there.generation), ...there.rules.map(({ id: _, ...each }) => each)];
  accepted(await subject.api.put(`/firewalls/${there.id}/rules`, { rules: rules.slice(0, 4) }));
}

/** To the larger of the two packages that it does not have, so that a server can be resized again and again. */
export async function resize({ api, server }: Subject): Promise<void> {
  const { body } = await api.get(`/servers/${server}`);
  const next = { s: "m", m: "l", l: "m" } as const;
  accepted(
    await api.post(`/servers/${server}/resize`, {
      package: next[body.package.slug as "s"],
      allow_restart: true,
      grow_disk: body.package.slug !== "l",
    }),
  );
}

/** Pools are unique in an installation, and each subject has one of its own. */
let pools = 0;

/** Lets the operator allocate an address to the subject, reserves it, and attaches it. */
async function attachAddress({ operator, region }: JobScene, subject: Subject): Promise<void> {
  const { api, organisation, server } = subject;
  const ips = (await api.get("/public-ips")).body.items;
  if (ips.length === 0) {
    pools += 1;
    const net = `100.${64 + Math.floor(pools / 256)}.${pools % 256}`;
    const pool = await operator.post("/ip-pools", {
      region,
      name: `pool ${pools}`,
      gateway: `${net}.1`,
      prefix_length: 24,
    });
    await operator.post(`/ip-pools/${pool.body.id}/ranges`, { cidr: `${net}.0/28` });
    await operator.post(`/ip-pools/${pool.body.id}/allocations`, {
      organisation_id: organisation,
      count: 1,
    });
    ips.push((await api.post("/public-ips", { region })).body);
  }
  accepted(await api.post(`/public-ips/${ips[0].id}/attach`, { server_id: server }));
}

function accepted(answer: Answer): Answer["body"] {
  if (answer.status !== 202) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}
