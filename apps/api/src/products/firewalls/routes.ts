import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { applyFirewall } from "./apply-firewall.ts";
import { attachmentStates } from "./attachment-status.ts";
import {
  type AttachmentOfFirewall,
  attachFirewall,
  checkAttachFirewall,
  detachFirewall,
} from "./attachments.ts";
import { checkCreateFirewall, createFirewall } from "./create-firewall.ts";
import { deleteFirewall } from "./delete-firewall.ts";
import {
  addFirewallRule,
  checkAddFirewallRule,
  checkSetFirewallRules,
  checkUpdateFirewallRule,
  type RuleOfFirewall,
  removeFirewallRule,
  setFirewallRules,
  updateFirewallRule,
} from "./rules.ts";
import { type FirewallDetails, findFirewall, listFirewalls } from "./store.ts";
import { checkTestFirewall, testFirewall } from "./test-firewall.ts";
import { checkUpdateFirewall, updateFirewall } from "./update-firewall.ts";
import { viewFirewall } from "./view.ts";

export function mountFirewalls(api: Api): void {
  const find = (request: ApiRequest): Promise<FirewallDetails | null> =>
    findFirewall(request.db, request.organisationId, request.pathId("firewall_id", "fw"));
  const findRule = async (request: ApiRequest): Promise<RuleOfFirewall | null> => {
    const firewall = await find(request);
    const ruleId = request.pathId("firewall_rule_id", "fwr");
    return firewall?.rules.some(({ id }) => id === ruleId) ? { firewall, ruleId } : null;
  };
  const findAttachment = async (request: ApiRequest): Promise<AttachmentOfFirewall | null> => {
    const firewall = await find(request);
    const attachmentId = request.pathId("firewall_attachment_id", "fwa");
    return firewall?.attachments.some(({ id }) => id === attachmentId) ? { firewall, attachmentId } : null;
  };

  operation(api, "listFirewalls", {
    handle: async (request) => {
      const page = await listFirewalls(request.db, request.organisationId, request.query);
      const states = await attachmentStates(request.db, request.organisationId, page.rows);
      return reply(200, {
        items: page.rows.map((row) => viewFirewall(row, states, request.caller)),
        next_cursor: page.nextCursor,
      });
    },
  });
  operation(api, "createFirewall", { check: checkCreateFirewall, mutate: createFirewall });
  operation(api, "getFirewall", {
    find,
    handle: async (request, row) =>
      reply(
        200,
        viewFirewall(row, await attachmentStates(request.db, request.organisationId, [row]), request.caller),
      ),
  });
  operation(api, "updateFirewall", { find, check: checkUpdateFirewall, mutate: updateFirewall });
  operation(api, "deleteFirewall", { find, mutate: deleteFirewall });
  operation(api, "setFirewallRules", { find, check: checkSetFirewallRules, mutate: setFirewallRules });
  operation(api, "addFirewallRule", { find, check: checkAddFirewallRule, mutate: addFirewallRule });
  operation(api, "updateFirewallRule", {
    find: findRule,
    check: checkUpdateFirewallRule,
    mutate: updateFirewallRule,
  });
  operation(api, "removeFirewallRule", { find: findRule, mutate: removeFirewallRule });
  operation(api, "attachFirewall", { find, check: checkAttachFirewall, mutate: attachFirewall });
  operation(api, "detachFirewall", { find: findAttachment, mutate: detachFirewall });
  operation(api, "applyFirewall", { find, mutate: applyFirewall });
  operation(api, "testFirewall", { find, check: checkTestFirewall, handle: testFirewall });
}
