import type { PayloadOf, RegionJobKind } from "@kule/contract/schemas";
import { requestCertificate } from "@kule/programs/certificates/program";
import { applyFirewall } from "@kule/programs/firewalls/program";
import { applyLoadBalancer } from "@kule/programs/load-balancers/program";
import { applyNetwork } from "@kule/programs/networks/program";
import type { Job, Program, Step, World } from "@kule/programs/program";
import { attachPublicIp, detachPublicIp } from "@kule/programs/public-ips/program";
import { runProgram } from "@kule/programs/run-program";
import { adoptServer } from "@kule/programs/servers/adopt-server/program";
import { createServer } from "@kule/programs/servers/create-server/program";
import { destroyServer } from "@kule/programs/servers/destroy-server/program";
import { powerServer } from "@kule/programs/servers/power-server/program";
import { rebuildServer } from "@kule/programs/servers/rebuild-server/program";
import { reconcileServer } from "@kule/programs/servers/reconcile-server/program";
import { resetPassword } from "@kule/programs/servers/reset-password/program";
import { resizeServer } from "@kule/programs/servers/resize-server/program";
import { restoreServer } from "@kule/programs/servers/restore-server/program";
import { stopServer } from "@kule/programs/servers/stop-server/program";
import { updateServer } from "@kule/programs/servers/update-server/program";
import type { EffectContext } from "@kule/proxmox/hypervisor";
import type { Runner } from "./local-agent.ts";

type Applied = (name: string) => void;

/** Runs a job with each of its steps applied twice in a row, and reports the name of each. */
const DOUBLED: { readonly [Kind in RegionJobKind]: (applied: Applied) => Runner } = {
  ServerCreate: (applied) => doubled(createServer, applied),
  ServerAdopt: (applied) => doubled(adoptServer, applied),
  ServerStop: (applied) => doubled(stopServer, applied),
  ServerRestore: (applied) => doubled(restoreServer, applied),
  ServerDestroy: (applied) => doubled(destroyServer, applied),
  ServerPower: (applied) => doubled(powerServer, applied),
  ServerResize: (applied) => doubled(resizeServer, applied),
  PublicIpAttach: (applied) => doubled(attachPublicIp, applied),
  PublicIpDetach: (applied) => doubled(detachPublicIp, applied),
  ServerRebuild: (applied) => doubled(rebuildServer, applied),
  ServerPasswordReset: (applied) => doubled(resetPassword, applied),
  ServerUpdate: (applied) => doubled(updateServer, applied),
  ServerReconcile: (applied) => doubled(reconcileServer, applied),
  FirewallApply: (applied) => doubled(applyFirewall, applied),
  NetworkApply: (applied) => doubled(applyNetwork, applied),
  CertificateRequest: (applied) => doubled(requestCertificate, applied),
  LoadBalancerApply: (applied) => doubled(applyLoadBalancer, applied),
};

/** The runner for jobs of a kind. A kind that is not in the table does not compile. */
export function runnerOfDoubledSteps(kind: RegionJobKind, applied: Applied): Runner {
  return DOUBLED[kind](applied);
}

function doubled<Kind extends RegionJobKind, Seen, S extends Step>(
  program: Program<Kind, Seen, S>,
  applied: Applied,
): Runner {
  type Apply = (step: S, job: Job<PayloadOf<Kind>>, world: World, effect: EffectContext) => Promise<void>;
  const twice = Object.fromEntries(
    Object.entries<Apply>(program.apply as unknown as Readonly<Record<string, Apply>>).map(
      ([name, apply]) => [
        name,
        async (...given: Parameters<Apply>) => {
          applied(name);
          await apply(...given);
          await apply(...given);
        },
      ],
    ),
  );
  const changed = { ...program, apply: twice } as unknown as Program<Kind, Seen, S>;
  return (job, world, host) => runProgram(changed, job as Job<PayloadOf<Kind>>, world, host);
}
