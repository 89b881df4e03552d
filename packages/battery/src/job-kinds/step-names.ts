import type { RegionJobKind } from "@kule/contract/schemas";
import { requestCertificate } from "@kule/programs/certificates/program";
import { applyFirewall } from "@kule/programs/firewalls/program";
import { applyLoadBalancer } from "@kule/programs/load-balancers/program";
import { applyNetwork } from "@kule/programs/networks/program";
import { attachPublicIp, detachPublicIp } from "@kule/programs/public-ips/program";
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

/** The steps that a kind's program can have at all. */
export const STEP_NAMES: { readonly [Kind in RegionJobKind]: readonly string[] } = {
  ServerCreate: Object.keys(createServer.apply),
  ServerAdopt: Object.keys(adoptServer.apply),
  ServerStop: Object.keys(stopServer.apply),
  ServerRestore: Object.keys(restoreServer.apply),
  // An import that was cancelled is removed from its VM by the same program: row B7 covers that.
  ServerDestroy: without(Object.keys(destroyServer.apply), "leave-pool", "unmark"),
  // What a failed restore has left is covered by the program's own tests.
  ServerPower: without(Object.keys(powerServer.apply), "unmark"),
  ServerResize: Object.keys(resizeServer.apply),
  ServerRebuild: Object.keys(rebuildServer.apply),
  ServerPasswordReset: Object.keys(resetPassword.apply),
  ServerUpdate: Object.keys(updateServer.apply),
  ServerReconcile: Object.keys(reconcileServer.apply),
  // They are one program. A guest drops the settings of an interface that is removed, and gets those of one
  // that stays: a detach that leaves the address of the other version is in the program's own tests.
  PublicIpAttach: without(Object.keys(attachPublicIp.apply), "clear-guest"),
  PublicIpDetach: without(Object.keys(detachPublicIp.apply), "tell-guest", "open-link"),
  FirewallApply: Object.keys(applyFirewall.apply),
  NetworkApply: Object.keys(applyNetwork.apply),
  CertificateRequest: Object.keys(requestCertificate.apply),
  LoadBalancerApply: Object.keys(applyLoadBalancer.apply),
};

function without(names: readonly string[], ...never: readonly string[]): string[] {
  return names.filter((each) => !never.includes(each));
}
