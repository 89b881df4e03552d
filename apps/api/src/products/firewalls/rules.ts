import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { fieldError, Invalid, NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { toldServers } from "./answer.ts";
import { ruleErrors } from "./check-rules.ts";
import { tooManyRules } from "./conflicts.ts";
import { lockFiltered } from "./refresh.ts";
import { replaceRules, storedRule, withIds } from "./rule-store.ts";
import { changeFirewallRow, type FirewallDetails, lockFirewall, type StoredRule } from "./store.ts";

const maxRules = 100;

export function checkSetFirewallRules(
  { db, organisationId }: ApiRequest<"setFirewallRules">,
  body: Partial<RequestBody<"setFirewallRules">>,
  { region }: FirewallDetails,
): Promise<FieldError[]> {
  const rules = (body.rules ?? []).map((rule, index) => ({ at: `/rules/${index}`, rule }));
  return ruleErrors({ db, organisationId, region }, rules);
}

export function setFirewallRules(
  request: ApiRequest<"setFirewallRules">,
  tx: Tx,
  found: FirewallDetails,
): Promise<Outcome> {
  return changeRules(request, tx, found, (there) => withIds(request.body.rules.map(storedRule), there));
}

export function checkAddFirewallRule(
  { db, organisationId }: ApiRequest<"addFirewallRule">,
  body: Partial<RequestBody<"addFirewallRule">>,
  { region }: FirewallDetails,
): Promise<FieldError[]> {
  return ruleErrors({ db, organisationId, region }, [{ at: "", rule: body }]);
}

export function addFirewallRule(
  request: ApiRequest<"addFirewallRule">,
  tx: Tx,
  found: FirewallDetails,
): Promise<Outcome> {
  return changeRules(request, tx, found, (there) => {
    if (there.length >= maxRules) throw tooManyRules(found.id, maxRules);
    return [...there, ...withIds([storedRule(request.body)], [])];
  });
}

/** A firewall with one of its rules. */
export type RuleOfFirewall = { readonly firewall: FirewallDetails; readonly ruleId: string };

export function removeFirewallRule(
  request: ApiRequest<"removeFirewallRule">,
  tx: Tx,
  { firewall, ruleId }: RuleOfFirewall,
): Promise<Outcome> {
  return changeRules(request, tx, firewall, (there) => {
    if (!there.some(({ id }) => id === ruleId)) throw new NotFound();
    return there.filter(({ id }) => id !== ruleId);
  });
}

async function changeRules(
  request: ApiRequest,
  tx: Tx,
  found: FirewallDetails,
  change: (there: readonly StoredRule[]) => readonly StoredRule[],
): Promise<Outcome> {
  const firewall = await lockFirewall(tx, request.organisationId, found.id);
  if (firewall === null) throw new NotFound();
  request.checkGeneration(firewall);
  await lockFiltered(tx, request.organisationId, firewall.region);
  await replaceRules(tx, firewall, change(firewall.rules)).catch((error: unknown) => {
    // A subnet, a network or a firewall that a rule names went away after the look at it.
    throw violatedConstraint(error)?.startsWith("firewall_peer") === true
      ? new Invalid([fieldError("/rules", "not_found", "a peer is not there any more")])
      : error;
  });
  await changeFirewallRow(tx, firewall);
  return toldServers(request, tx, firewall);
}
