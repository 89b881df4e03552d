import { setTimeout as delay } from "node:timers/promises";
import { ProxmoxClient } from "@kule/proxmox/client";
import { runInGuest } from "@kule/proxmox/guest-agent";
import { systemRuntime } from "@kule/proxmox/runtime";
import type { LoadBalancerIntent } from "@kule/rules/load-balancers/intent";
import { renderLoadBalancer } from "@kule/rules/load-balancers/render/render-load-balancer";
import {
  sampleIntent,
  sampleListener,
  sampleMachine,
  sampleTarget,
} from "@kule/rules/load-balancers/testing/sample-intents";
import { linkLocalOf } from "@kule/rules/public-ips/link-local-address";
import { HttpLoad, type LoadOrder } from "@kule/testing/packets/http-load";
import { PacketMachine } from "@kule/testing/packets/packet-machine";
import { RealLab, vm } from "@kule/testing/real-guests/real-lab";
import { Failed } from "../errors.ts";
import { type Bundle, renderBundle } from "../guest-state/bundle.ts";
import type { GuestOf } from "../guest-state/guest-state.ts";
import { type LoadBalancerStatus, readStatus } from "../load-balancers/status/read-status.ts";
import { bring, isBrought } from "./killed-guest-state.ts";
import { owner } from "./state-guest.ts";

export const slots = [1, 2] as const;
export type Slot = (typeof slots)[number];
export const otherSlot = (slot: Slot): Slot => (slot === 1 ? 2 : 1);

const vmids = { 1: 20_001, 2: 20_002 } as const;
export const addresses = { 1: "203.0.113.21", 2: "203.0.113.22" } as const;
const virtualAddress = "203.0.113.30";
/** In a network of its own, by the machines' second interface, of which the guest is told nothing but that it is there. */
const publicMacs = { 1: "BC:24:11:00:01:21", 2: "BC:24:11:00:01:22" } as const;
const publicGateway = "198.51.100.1";
export const publicAddress = "198.51.100.30";
/** Of clients who reach it by its gateway alone. */
export const farClients = "192.0.2.7";
/** Of the targets: small programs on each of the two machines, so that there need be no more of them. */
export const targetPort = 9000;
/** What is sent there comes back, after the number of the machine, until one side closes. */
const echoPort = 9001;
const listenerPorts = { page: 80, echo: 81 } as const;
const targetIds = { 1: "tgt_one", 2: "tgt_two" } as const;
const ours = new Map(["lsn_web", "lsn_echo"].map((id) => [id, new Set<string>(Object.values(targetIds))]));
/** For whatever happens in a guest: on a machine that is busy a boot alone takes half a minute. */
const LIMIT_MS = 90_000;
const MOST_TRIES = 4;

const highAvailability = { virtualAddress, prefixLength: 24, vrid: 7, publicAddress: null };
export const withPublicAddress = {
  ...highAvailability,
  publicAddress: {
    address: publicAddress,
    prefixLength: 24,
    gateway: publicGateway,
    interfaceName: "eth1",
  },
};

type Connection = Awaited<ReturnType<PacketMachine["connect"]>>;
export type Visitor = {
  /** A connection to the echo of one of the targets. */
  open(): Promise<Connection>;
  end(): Promise<void>;
};

/**
 * A load balancer of two machines that really boot, in a lab of its own: what the rules render is put into them as the
 * region's program does it. Both targets answer with the number of the machine that they are on.
 */
export class RealLoadBalancer {
  readonly lab: RealLab;
  readonly #client: ProxmoxClient;
  readonly #guests: { readonly [slot in Slot]: GuestOf };
  readonly #loads: HttpLoad[] = [];
  /** What both machines have. */
  intent: LoadBalancerIntent = { ...sampleIntent, generation: 0 };

  private constructor(lab: RealLab) {
    this.lab = lab;
    this.#client = new ProxmoxClient({
      endpoints: [lab.lab.url],
      tokenId: lab.lab.operatorTokenId,
      tokenSecret: lab.lab.operatorTokenSecret,
      tls: { fingerprints: [lab.lab.fingerprint256] },
    });
    const guestOf = (slot: Slot): GuestOf => ({
      vmid: vmids[slot],
      owner,
      hypervisor: {
        runInGuest: (vmid, _owner, command) =>
          runInGuest(this.#client, systemRuntime, { node: "pve1", vmid }, command, {}),
      },
    });
    this.#guests = { 1: guestOf(1), 2: guestOf(2) };
  }

  /** Booted, without a state. Its first use on a machine makes the image, which takes minutes. */
  static async start(): Promise<RealLoadBalancer> {
    const balancer = new RealLoadBalancer(
      await RealLab.start("kule-lb", {
        networks: [{ bridge: "vmbr0", vlan: 77, addresses: [`${publicGateway}/24`] }],
        beyond: [farClients],
      }),
    );
    try {
      for (const slot of slots)
        await balancer.lab.create(vmids[slot], {
          net0: `virtio=BC:24:11:00:00:2${slot},bridge=vmbr0`,
          ipconfig0: `ip=${addresses[slot]}/24,gw=203.0.113.1`,
          net1: `virtio=${publicMacs[slot]},bridge=vmbr0,tag=77`,
          ipconfig1: `ip6=${linkLocalOf(publicMacs[slot])}/64`,
        });
      for (const slot of slots) await balancer.#ready(slot);
      return balancer;
    } catch (error) {
      await balancer.end();
      throw error;
    }
  }

  async end(): Promise<void> {
    await this.endLoads();
    this.#client.close();
    await this.lab.end();
  }

  /** An intent of the next generation. */
  next(more: Partial<LoadBalancerIntent> = {}): LoadBalancerIntent {
    const healthCheck = {
      ...sampleListener.healthCheck,
      intervalSeconds: 2,
      timeoutSeconds: 1,
      healthyThreshold: 1,
    };
    const page = { ...sampleListener, port: listenerPorts.page, targetPort, healthCheck };
    return {
      ...sampleIntent,
      listeners: [
        page,
        {
          ...page,
          id: "lsn_echo",
          protocol: "tcp",
          port: listenerPorts.echo,
          targetPort: echoPort,
          idleTimeoutSeconds: 600,
        },
      ],
      targets: slots.map((slot) => ({
        ...sampleTarget,
        targetId: targetIds[slot],
        address: addresses[slot],
      })),
      highAvailability,
      ...more,
      generation: this.intent.generation + 1,
    };
  }

  /** Both machines, one after the other, have the next generation. */
  async change(more: Partial<LoadBalancerIntent> = {}): Promise<void> {
    const intent = this.next(more);
    for (const slot of slots) await this.put(slot, intent);
    this.intent = intent;
  }

  /**
   * Again when its guest agent was too slow, as a job would be.
   *
   * @throws Failed when the machine refuses it
   */
  async put(slot: Slot, intent: LoadBalancerIntent): Promise<void> {
    for (let left = MOST_TRIES; ; left -= 1)
      try {
        return await bring(this.#guests[slot], bundleOf(slot, intent));
      } catch (error) {
        if (error instanceof Failed || left <= 1) throw error;
      }
  }

  /** Whether the machine has what both are to have, and it is in force. */
  async has(slot: Slot): Promise<boolean> {
    return isBrought(this.#guests[slot], bundleOf(slot, this.intent));
  }

  /** The output of a command line of the machine that must succeed. */
  async said(slot: Slot, line: string): Promise<string> {
    const { exitcode, out } = await this.lab.shell(vmids[slot], line);
    if (exitcode !== 0) throw new Error(`machine ${slot}: ${line}: ${out}`);
    return out;
  }

  async status(slot: Slot): Promise<LoadBalancerStatus> {
    const text = await this.said(slot, "kule-lb status");
    const seen = readStatus(text, ours);
    if (seen === null) throw new Error(`machine ${slot} has no status: ${text}`);
    return seen;
  }

  /** The machine that has the virtual address, once exactly one of these has it. */
  async master(among: readonly Slot[] = slots): Promise<Slot> {
    let found: Slot[] = [];
    await this.until("one machine has the address", async () => {
      const roles = await Promise.all(
        among.map(async (slot) => ((await this.status(slot)).role === "master" ? [slot] : [])),
      );
      found = roles.flat();
      return found.length === 1;
    });
    return found[0] ?? 1;
  }

  /** Whether the machine has the public address, with the way that its answers take. */
  async hasPublicAddress(slot: Slot): Promise<boolean> {
    const [shown, rules] = await Promise.all([
      this.said(slot, "ip -4 -o address show dev eth1"),
      this.said(slot, "ip rule show; ip route show table 1000 2>/dev/null || true"),
    ]);
    const has = shown.includes(`${publicAddress}/32`);
    const answers = rules.includes(`from ${publicAddress} lookup 1000`) && rules.includes(publicGateway);
    if (has !== answers) throw new Error(`machine ${slot} has half of it: ${shown}\n${rules}`);
    return has;
  }

  /** @throws Error when it does not become true in time */
  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + LIMIT_MS;
    while (!(await holds())) {
      if (performance.now() > deadline) throw new Error(`not in ${LIMIT_MS / 1_000} s: ${what}`);
      await delay(200);
    }
  }

  /** Clients beyond the region that request a page of the load balancer. */
  load(more: Partial<LoadOrder> = {}) {
    const load = new HttpLoad(this.#internet, { host: virtualAddress, port: listenerPorts.page, ...more });
    this.#loads.push(load);
    return load;
  }

  /** Ends all clients that are still there. */
  async endLoads(): Promise<void> {
    await Promise.all(this.#loads.splice(0).map((load) => load.end()));
  }

  /** A machine beyond the region, for connections that stay. */
  async visitor(): Promise<Visitor> {
    const machine = new PacketMachine(this.#internet);
    await machine.start();
    return {
      open: () => machine.connect(virtualAddress, listenerPorts.echo),
      end: () => machine.end(),
    };
  }

  /** The words before a command that run it in the machine's network, outside of its guest. */
  inMachine(slot: Slot): readonly string[] {
    return this.#wires.inMachine(vmids[slot]);
  }

  get #internet(): readonly string[] {
    return this.#wires.inInternet();
  }

  get #wires() {
    const { wires } = this.lab.lab;
    if (wires === undefined) throw new Error("the lab has no wires");
    return wires;
  }

  /** As a power cut: nothing in the guest hears of it. */
  async cut(slot: Slot): Promise<void> {
    await this.lab.change(`POST ${vm(vmids[slot])}/status/stop`);
  }

  /** Switched on, booted, with its target. */
  async switchOn(slot: Slot): Promise<void> {
    await this.lab.change(`POST ${vm(vmids[slot])}/status/start`);
    await this.#ready(slot);
  }

  async #ready(slot: Slot): Promise<void> {
    await this.lab.booted(vmids[slot]);
    // A page that is answered before the request was read would end with a reset.
    await this.said(
      slot,
      `cat > /root/page <<'END'
#!/bin/sh
while read -r line && [ "$line" != "$(printf '\\r')" ]; do :; done
printf 'HTTP/1.1 200 OK\\r\\nContent-Length: 1\\r\\nConnection: close\\r\\n\\r\\n${slot}'
END
chmod 700 /root/page
systemd-run --quiet --unit=page socat TCP-LISTEN:${targetPort},fork,reuseaddr,backlog=512 EXEC:/root/page`,
    );
    await this.said(
      slot,
      `systemd-run --quiet --unit=echo socat TCP-LISTEN:${echoPort},fork,reuseaddr SYSTEM:'echo ${slot}; cat'`,
    );
  }
}

function bundleOf(slot: Slot, intent: LoadBalancerIntent): Bundle {
  const { certificateIds: _, ...state } = renderLoadBalancer(intent, {
    ...sampleMachine,
    slot,
    address: addresses[slot],
    peerAddress: addresses[otherSlot(slot)],
  });
  return renderBundle(state);
}
