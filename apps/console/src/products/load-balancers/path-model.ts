import type { Schemas } from "@kule/contract/schemas";
import type { Tone } from "../../layout/parts.tsx";
import type { OverviewProps } from "./props.ts";
import { balancerTones, listenerName, targetTones } from "./status.ts";
import { targetName } from "./target-name.ts";

export type PathListener = {
  readonly id: string;
  readonly name: string;
  readonly targetPort: number;
  /** It answers by itself, and sends nothing to targets. */
  readonly isRedirect: boolean;
  readonly isOpen: boolean;
};

export type PathTarget = {
  readonly name: string;
  readonly address: string;
  readonly status: Schemas["TargetStatus"];
  readonly tone: Tone;
  readonly serverId: string | null;
};

/** The data of the picture of a load balancer's way. */
export type PathModel = {
  readonly name: string;
  readonly tone: Tone;
  /** Where clients reach it; null: it has no address yet. */
  readonly address: string | null;
  /** Whether clients come from the internet, or only from its network. */
  readonly isPublic: boolean;
  readonly machines: number;
  readonly listeners: readonly PathListener[];
  readonly targets: readonly PathTarget[];
};

export function pathModel({ view, balancer, listeners, targets, health, servers }: OverviewProps): PathModel {
  const open = new Set(
    health.listeners.flatMap(({ listener_id, is_open }) => (is_open ? [listener_id] : [])),
  );
  return {
    name: balancer.name,
    tone: balancerTones[balancer.status],
    address: balancer.public_ip?.address ?? balancer.private_ip,
    isPublic: balancer.public_ip !== null,
    machines: balancer.ha ? 2 : 1,
    listeners: listeners.map((listener) => ({
      id: listener.id,
      name: listenerName(view, listener),
      targetPort: listener.target_port,
      isRedirect: listener.redirect_to_https,
      isOpen: open.has(listener.id),
    })),
    targets: health.targets.map(({ target_id, server_id, address, status }) => {
      const target = targets.find(({ id }) => id === target_id);
      return {
        name:
          servers.find(({ id }) => id === server_id)?.name ??
          (target === undefined || target.address !== null ? "" : targetName(target, servers)),
        address,
        status,
        tone: targetTones[status],
        serverId: server_id,
      };
    }),
  };
}
