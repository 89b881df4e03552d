import { Problem } from "../../layout/fields.tsx";
import { may } from "../../session.ts";
import type { CreatePageProps } from "./props.ts";

/** The firewalls that are attached to the server from its first start. */
export function FirewallChoice({ view, form, firewalls, problems }: CreatePageProps) {
  const { messages, session } = view;
  const text = messages.firewalls.ofNewServer;
  const here = firewalls.filter(({ region }) => region === form.region);
  const mayAttach = session !== null && may(session, "firewall:update");
  return (
    <fieldset class="choice" id="firewalls">
      <legend>{messages.firewalls.title}</legend>
      <p class="hint">{text.hint}</p>
      {mayAttach ? null : <p class="hint">{messages.common.notAllowed}</p>}
      <Problem name="firewall_ids" problems={problems.firewall_ids} />
      {here.length === 0 ? (
        <p class="hint">
          {text.none} <a href="/firewalls/new">{messages.firewalls.create}</a>
        </p>
      ) : null}
      <div class="checks">
        {here.map(({ id, name, rules, description }) => (
          <label class="check">
            <input
              type="checkbox"
              id={`firewall-${id}`}
              name="firewall_ids"
              value={id}
              checked={form.firewallIds.includes(id)}
              disabled={!mayAttach}
            />
            <span>
              <strong>{name}</strong>
              <small>
                {[messages.firewalls.ruleCount(rules.length), description]
                  .filter((part) => part !== "")
                  .join(" · ")}
              </small>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** The chosen ones, by their names. */
export function ChosenFirewalls({ view, form, firewalls }: CreatePageProps) {
  const { messages } = view;
  const names = form.firewallIds.map((id) => firewalls.find((each) => each.id === id)?.name ?? id);
  return (
    <div>
      <dt>{messages.firewalls.title}</dt>
      <dd>{names.length === 0 ? messages.firewalls.ofNewServer.noneChosen : names.join(", ")}</dd>
    </div>
  );
}
