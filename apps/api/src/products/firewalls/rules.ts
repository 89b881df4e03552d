import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Invalid, NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { takeQuota } from "../quotas/index.ts";
import { answerWithServerJobs } from "./answer.ts";
import { ruleErrors, ruleTextErrors } from "./check-rules.ts";
import { tooManyRules } from "./conflicts.ts";
import { lockFiltered } from "./refresh.ts";
import { changedRule, replaceRules, storedRule, withIds } from "./rule-store.ts";
import { changeFirewallRow, type FirewallDetails, lockFirewall, type StoredRule } from "./store.ts";
import { viewRule } from "./view.ts";

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

export function checkUpdateFirewallRule(
  { db, organisationId }: ApiRequest<"updateFirewallRule">,
  body: Partial<RequestBody<"updateFirewallRule">>,
  { firewall, ruleId }: RuleOfFirewall,
): Promise<FieldError[]> {
  const rules = firewall.rules.filter(({ id }) => id === ruleId).map((rule) => changedRule(rule, body));
  const { region } = firewall;
  return ruleErrors(
    { db, organisationId, region },
    rules.map((rule) => ({ at: "", rule: viewRule(rule) })),
  );
}

export function updateFirewallRule(
  request: ApiRequest<"updateFirewallRule">,
  tx: Tx,
  { firewall, ruleId }: RuleOfFirewall,
): Promise<Outcome> {
  const { body } = request;
  return changeRules(request, tx, firewall, (there) => {
    const at = there.findIndex(({ id }) => id === ruleId);
    const rule = there[at];
    if (rule === undefined) throw new NotFound();
    const changed = changedRule(rule, body);
    // A concurrent change of the rule may contradict this one.
    const errors = ruleTextErrors("", viewRule(changed));
    if (errors.length > 0) throw new Invalid(errors);
    return there.toSpliced(at, 1).toSpliced(body.position ?? at, 0, changed);
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
  const rules = change(firewall.rules);
  await lockFiltered(tx, request.organisationId, firewall.region);
  // After the servers, as at the end of their jobs, which count what was used; before the subnets that a rule names.
  await takeQuota(tx, request.organisationId, { firewall_rules: rules.length - firewall.rules.length });
  await replaceRules(tx, firewall, rules);
  await changeFirewallRow(tx, firewall);
  return answerWithServerJobs(request, tx, firewall);
}
