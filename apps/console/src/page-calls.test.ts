import type { OperationId } from "@kule/contract/schemas";
import { afterEach, beforeEach, expect, test } from "vitest";
import { callsIn, wrongInCall } from "./testing/calls-in.ts";
import { type CompleteWorld, startCompleteWorld, visitEveryPage } from "./testing/every-page.ts";

let world: CompleteWorld;
beforeEach(async () => {
  world = await startCompleteWorld();
});
afterEach(() => world.stop());

/** The call of each form of the panel; an id is `*`. Null: it changes only this browser's session. */
const operationOf: Readonly<Record<string, OperationId | readonly OperationId[] | null>> = {
  "/preferences": null,
  "/sign-out": null,
  // An operator's calls name the organisation in a header.
  "/organisations": null,
  "/switch-organisation": "switchOrganisation",
  "/leave-organisation": "leaveOrganisation",
  "/join": "joinOrganisation",
  // Only a browser can create the content of its body.
  "/account/passkeys/new": null,
  "/account/password": "changePassword",
  "/account/proof": "proveIdentity",
  "/account/recovery-codes": "replaceRecoveryCodes",
  "/account/two-factor/begin": "beginTotp",
  "/account/two-factor/confirm": "confirmTotp",
  "/account/two-factor/remove": "removeTotp",
  "/account/passkeys/*/rename": "renamePasskey",
  "/account/passkeys/*/remove": "removePasskey",
  "/account/sessions/*/end": "revokeSession",
  "/account/sessions/end-others": "revokeOtherSessions",
  "/account/identities/link": "beginIdentity",
  "/account/identities/*/remove": "unlinkIdentity",
  "/account/proof/provider": "beginIdentity",
  "/members/*/second-factor": "resetSecondFactor",
  "/members/*/password-reset": "createPasswordReset",
  "/forgot-password": "requestPasswordReset",
  "/reset-password": "confirmPasswordReset",
  "/members/invite": "createInvitation",
  "/members/invitations/*/revoke": "revokeInvitation",
  "/members/*/role": "updateMember",
  "/members/*/remove": "removeMember",
  "/tokens/new": "createToken",
  "/tokens/*/rotate": "rotateToken",
  "/tokens/*/revoke": "revokeToken",
  "/servers/new": "createServer",
  "/servers/selected": ["powerServer", "deleteServer", "cancelServerDeletion"],
  "/networks/selected": "deleteNetwork",
  "/gateways/selected": "deleteGateway",
  "/load-balancers/selected": ["applyLoadBalancer", "deleteLoadBalancer"],
  "/firewalls/selected": ["applyFirewall", "deleteFirewall"],
  "/public-ips/selected": ["detachPublicIp", "deletePublicIp"],
  "/domains/selected": ["applyDomain", "deleteDomain"],
  "/certificates/selected": "deleteCertificate",
  "/ssh-keys/selected": "deleteSshKey",
  "/servers/*/settings": "updateServer",
  "/servers/*/labels": "updateServer",
  "/servers/*/protection": "updateServer",
  "/servers/*/power": "powerServer",
  "/servers/*/resize": "resizeServer",
  "/servers/*/rebuild": "rebuildServer",
  "/servers/*/password-reset": "resetServerPassword",
  "/servers/*/end-console": "endServerConsoleSession",
  "/servers/*/delete": "deleteServer",
  "/servers/*/purge": "deleteServer",
  "/servers/*/cancel-deletion": "cancelServerDeletion",
  "/servers/*/attach-address": "attachPublicIp",
  "/servers/*/take-address": "createPublicIp",
  "/servers/*/detach-address": "detachPublicIp",
  "/servers/*/attach-firewall": "attachFirewall",
  "/servers/*/detach-firewall": "detachFirewall",
  "/jobs/*/cancel": "cancelJob",
  "/jobs/*/retry": "retryJob",
  "/ssh-keys/new": "createSshKey",
  "/ssh-keys/*/settings": "updateSshKey",
  "/ssh-keys/*/labels": "updateSshKey",
  "/ssh-keys/*/delete": "deleteSshKey",
  "/networks/new": "createNetwork",
  "/networks/*/settings": "updateNetwork",
  "/networks/*/labels": "updateNetwork",
  "/networks/*/delete": "deleteNetwork",
  "/networks/*/subnets/new": "createSubnet",
  "/networks/*/subnets/*/settings": "updateSubnet",
  "/networks/*/subnets/*/labels": "updateSubnet",
  "/networks/*/subnets/*/delete": "deleteSubnet",
  "/networks/*/subnets/*/reservations": "createReservation",
  "/networks/*/subnets/*/reservations/*/settings": "updateReservation",
  "/networks/*/subnets/*/reservations/*/labels": "updateReservation",
  "/networks/*/subnets/*/reservations/*/delete": "deleteReservation",
  "/gateways/new": "createGateway",
  "/gateways/*/settings": "updateGateway",
  "/gateways/*/labels": "updateGateway",
  "/gateways/*/delete": "deleteGateway",
  "/gateways/*/serve": "attachGatewaySubnet",
  "/gateways/*/unserve": "detachGatewaySubnet",
  "/gateways/*/forward": "createPortForward",
  "/gateways/*/unforward": "deletePortForward",
  "/load-balancers/new": "createLoadBalancer",
  "/load-balancers/*/settings": "updateLoadBalancer",
  "/load-balancers/*/labels": "updateLoadBalancer",
  "/load-balancers/*/delete": "deleteLoadBalancer",
  "/load-balancers/*/apply": "applyLoadBalancer",
  "/load-balancers/*/resize": "resizeLoadBalancer",
  "/load-balancers/*/listeners/new": "createListener",
  "/load-balancers/*/listeners/*": "updateListener",
  "/load-balancers/*/listeners/*/delete": "deleteListener",
  "/load-balancers/*/targets/new": "createTarget",
  "/load-balancers/*/targets/*": "updateTarget",
  "/load-balancers/*/targets/*/drain": "updateTarget",
  "/load-balancers/*/targets/*/delete": "deleteTarget",
  "/firewalls/new": "createFirewall",
  "/firewalls/*/settings": "updateFirewall",
  "/firewalls/*/labels": "updateFirewall",
  "/firewalls/*/delete": "deleteFirewall",
  "/firewalls/*/attach": "attachFirewall",
  "/firewalls/*/detach": "detachFirewall",
  "/firewalls/*/apply": "applyFirewall",
  "/firewalls/*/rules": "setFirewallRules",
  "/public-ips/new": "createPublicIp",
  "/public-ips/*/attach": "attachPublicIp",
  "/public-ips/*/detach": "detachPublicIp",
  "/public-ips/*/settings": "updatePublicIp",
  "/public-ips/*/labels": "updatePublicIp",
  "/public-ips/*/delete": "deletePublicIp",
  "/domains/new": "createDomain",
  "/domains/*/settings": "updateDomain",
  "/domains/*/labels": "updateDomain",
  "/domains/*/delete": "deleteDomain",
  "/domains/*/purge": "deleteDomain",
  "/domains/*/cancel-deletion": "cancelDomainDeletion",
  "/domains/*/apply": "applyDomain",
  "/domains/*/verify": "verifyDomain",
  "/domains/*/dnssec": "setDomainDnssec",
  "/domains/*/import": "importZoneFile",
  "/domains/*/import/apply": "importZoneFile",
  "/domains/*/records": "setRecordSet",
  "/domains/*/records/selected": "changeRecordSets",
  "/domains/*/records/selected/delete": "changeRecordSets",
  "/domains/*/records/change": ["setRecordSet", "changeRecordSets"],
  "/certificates/new": "createCertificate",
  "/certificates/*/settings": "updateCertificate",
  "/certificates/*/labels": "updateCertificate",
  "/certificates/*/delete": "deleteCertificate",
  "/certificates/*/material": "replaceCertificateMaterial",
  "/certificates/*/renew": "renewCertificate",
  "/operator/regions/new": "createRegion",
  "/operator/regions/*/maintenance": "updateRegion",
  "/operator/regions/*/settings": "updateRegion",
  "/operator/regions/*/enrolments": "createEnrolment",
  "/operator/regions/*/tokens": "createAgentToken",
  "/operator/regions/*/tokens/*/rotate": "rotateAgentToken",
  "/operator/regions/*/tokens/*/revoke": "revokeAgentToken",
  "/operator/regions/*/agent-key/approve": "approveAgentKey",
  "/operator/regions/*/agent-key/refuse": "refuseAgentKey",
  "/operator/agent-updates/settings": "updateAgentUpdates",
  "/operator/agent-updates/rollouts": "createAgentRollout",
  "/operator/agent-updates/rollouts/*/pause": "pauseAgentRollout",
  "/operator/agent-updates/rollouts/*/cancel": "cancelAgentRollout",
  "/operator/restore/*": "updateRegionRestore",
  "/operator/servers/*/lock": "lockServer",
  "/operator/servers/*/reconcile": "reconcileServer",
  "/operator/import": "importServer",
  "/organisations/new": "createOrganisation",
  "/organisations/*/quotas": "setQuotas",
  "/organisations/*/settings": "updateOrganisation",
  "/organisations/*/standing": "updateOrganisation",
  "/ip-pools/new": "createIpPool",
  "/ip-pools/*/settings": "updateIpPool",
  "/ip-pools/*/delete": "deleteIpPool",
  "/ip-pools/*/ranges": "addIpPoolRange",
  "/ip-pools/*/ranges/*/remove": "removeIpPoolRange",
  "/ip-pools/*/allocations": "allocateIpPoolAddresses",
  "/ip-pools/*/allocations/*/withdraw": "withdrawIpPoolAddress",
};

/** The path of a form with its ids left out. */
const shapeOf = (action: string) =>
  action
    .split("/")
    .map((part) =>
      /^[a-z]+_[0-9a-z]{10,}$|^(?:ist1|ank1|old1|old2)$|^\d+\.\d+\.\d+\.\d+$/.test(part) ? "*" : part,
    )
    .join("/");

const formsIn = (page: string) =>
  [...page.matchAll(/<form\s[^>]*>/g)].flatMap(([tag]) => {
    const action = /action="([^"]*)"/.exec(tag)?.[1];
    return tag.includes('method="post"') && action !== undefined ? [shapeOf(action)] : [];
  });

/** Records the page's forms as seen. */
function wrongIn(path: string, page: string, seen: Set<string>): string[] {
  const calls = callsIn(page);
  const shown = new Set(calls.map(({ operation }) => operation));
  const refused = calls.flatMap((call) => wrongInCall(call) ?? []).map((text) => `${path}: ${text}`);
  const forms = [...new Set(formsIn(page))];
  for (const form of forms) seen.add(form);
  const without = forms.flatMap((form) => {
    const operation = operationOf[form];
    if (operation === null) return [];
    if (operation === undefined) return [`${path}: nobody said what ${form} calls`];
    const wanted = [operation].flat();
    return wanted.some((each) => shown.has(each)) ? [] : [`${path}: ${form} without ${wanted.join(" or ")}`];
  });
  return [...refused, ...without];
}

test("every form of a page has its call on the page, and the call is valid by the contract", async () => {
  const seen = new Set<string>();
  const wrong: string[] = [];
  await visitEveryPage(world, (_visitor, path, page) => {
    wrong.push(...wrongIn(path, page, seen));
  });
  expect(wrong).toEqual([]);
  // An entry that no page has is an error.
  expect(Object.keys(operationOf).filter((form) => !seen.has(form))).toEqual([]);
}, 240_000);
