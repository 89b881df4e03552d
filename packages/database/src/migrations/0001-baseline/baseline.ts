import { account } from "./account.ts";
import { addressChecks } from "./address-checks.ts";
import { addresses } from "./addresses.ts";
import { agentUpdates } from "./agent-updates.ts";
import { audit } from "./audit.ts";
import { certificates } from "./certificates.ts";
import { consoles } from "./consoles.ts";
import { domains } from "./domains.ts";
import { firewalls } from "./firewalls.ts";
import { functionRights } from "./function-rights.ts";
import { gatewayChecks } from "./gateway-checks.ts";
import { gateways } from "./gateways.ts";
import { history } from "./history.ts";
import { inventory } from "./inventory.ts";
import { ipPoolCounts } from "./ip-pool-counts.ts";
import { ipPools } from "./ip-pools.ts";
import { jobQueue } from "./job-queue.ts";
import { jobs } from "./jobs.ts";
import { labelTerms } from "./label-terms.ts";
import { loadBalancers } from "./load-balancers.ts";
import { members } from "./members.ts";
import { networkChecks } from "./network-checks.ts";
import { networks } from "./networks.ts";
import { organisations } from "./organisations.ts";
import { platform } from "./platform.ts";
import { pointers } from "./pointers.ts";
import { publicIpChecks } from "./public-ip-checks.ts";
import { publicIps } from "./public-ips.ts";
import { quotaCounts } from "./quota-counts.ts";
import { regions } from "./regions.ts";
import { restores } from "./restores.ts";
import { serverChecks } from "./server-checks.ts";
import { servers } from "./servers.ts";
import { signIn } from "./sign-in.ts";
import { signInFunctions } from "./sign-in-functions.ts";
import { sshKeyUse } from "./ssh-key-use.ts";
import { sshKeys } from "./ssh-keys.ts";
import { tokens } from "./tokens.ts";
import { usage } from "./usage.ts";
import { usageBalances } from "./usage-balances.ts";
import { worker } from "./worker.ts";

/**
 * The whole database, in the order of creation: callers, then jobs, then the resources of an organisation.
 *
 * - Beside each table are its rights and its row-level security. The API's role owns nothing and is no superuser; it
 *   has only the rights granted here. A missing right is deliberate: history, such as servers and jobs, is not deleted.
 * - Every table of organisations has `organisation_id` in a unique key with its `id`, and children refer to both:
 *   row-level security does not apply to foreign keys, so without that a child could refer to another organisation's
 *   parent. The same holds for the region.
 * - The commit checks of a product are in its `*-checks.ts`, after all tables that they read.
 */
export const baseline = [
  platform,
  labelTerms,
  organisations,
  account,
  members,
  regions,
  agentUpdates,
  tokens,
  signIn,
  signInFunctions,
  audit,
  worker,
  jobs,
  history,
  jobQueue,
  usage,
  usageBalances,
  sshKeys,
  networks,
  networkChecks,
  servers,
  sshKeyUse,
  addresses,
  serverChecks,
  addressChecks,
  inventory,
  consoles,
  firewalls,
  ipPools,
  gateways,
  publicIps,
  pointers,
  ipPoolCounts,
  publicIpChecks,
  gatewayChecks,
  domains,
  certificates,
  loadBalancers,
  quotaCounts,
  restores,
  functionRights,
].join("");
