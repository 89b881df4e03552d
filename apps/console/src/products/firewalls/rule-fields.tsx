import { Problem } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { DraftButton } from "./draft-part.tsx";
import { PeerFields } from "./peer-fields.tsx";
import type { RulesPageProps } from "./props.ts";
import { neighbourOf } from "./rule-order.ts";

const protocols = ["tcp", "udp", "icmp", "icmpv6", "any"] as const;

/** One rule: a line of choices, and a line for its description. */
export function RuleFields(props: RulesPageProps & { readonly row: number }) {
  const { view, rules, row, problems, focus } = props;
  const text = view.messages.firewalls;
  const rule = rules[row];
  if (rule === undefined) return null;
  const number = row + 1;
  const field = (name: string) => `rule-${row}-${name}`;
  const said = (name: string) => `${text.editor.rule(number)}: ${name}`;
  const wrong = (name: string) => problems[field(name)];
  const around = (name: string) => (wrong(name) === undefined ? undefined : "true");
  const shared = (name: string, label: string) => ({
    id: field(name),
    name: field(name),
    "aria-label": said(label),
    "aria-invalid": wrong(name) === undefined ? undefined : ("true" as const),
    "aria-describedby": wrong(name) === undefined ? undefined : `${field(name)}-problem`,
    autofocus: focus === field(name),
  });
  return (
    <tbody data-off={rule.enabled ? undefined : ""} data-action={rule.action}>
      <tr>
        <td class="rule-move">
          <DraftButton
            {...props}
            id={field("up")}
            intent={`up:${row}`}
            class="move"
            label={text.editor.up(number)}
            disabled={neighbourOf(rules, row, "up") === null}
            autofocus={focus === field("up")}
          >
            <Icon name="up" size={15} />
          </DraftButton>
          <DraftButton
            {...props}
            id={field("down")}
            intent={`down:${row}`}
            class="move"
            label={text.editor.down(number)}
            disabled={neighbourOf(rules, row, "down") === null}
            autofocus={focus === field("down")}
          >
            <Icon name="down" size={15} />
          </DraftButton>
        </td>
        <td data-label={text.direction} data-invalid={around("direction")}>
          <select {...shared("direction", text.direction)}>
            {(["in", "out"] as const).map((direction) => (
              <option value={direction} selected={rule.direction === direction}>
                {text.directions[direction]}
              </option>
            ))}
          </select>
          <Problem name={field("direction")} problems={wrong("direction")} />
        </td>
        <td data-label={text.action} data-invalid={around("action")}>
          <select {...shared("action", text.action)}>
            {(["allow", "deny"] as const).map((action) => (
              <option value={action} selected={rule.action === action}>
                {text.actions[action]}
              </option>
            ))}
          </select>
          <Problem name={field("action")} problems={wrong("action")} />
        </td>
        <td data-label={text.protocol} data-invalid={around("protocol")}>
          <select {...shared("protocol", text.protocol)} data-protocol="">
            {protocols.map((protocol) => (
              <option value={protocol} selected={rule.protocol === protocol}>
                {text.protocols[protocol]}
              </option>
            ))}
          </select>
          <Problem name={field("protocol")} problems={wrong("protocol")} />
        </td>
        <td class="rule-ports" data-label={text.ports} data-invalid={around("ports")}>
          <input
            {...shared("ports", text.ports)}
            type="text"
            class="mono"
            value={rule.ports}
            placeholder={rule.protocol === "tcp" || rule.protocol === "udp" ? text.allPorts : "–"}
            maxlength={200}
            autocomplete="off"
            spellcheck={false}
          />
          <Problem name={field("ports")} problems={wrong("ports")} />
        </td>
        <td class="rule-peers" data-label={rule.direction === "in" ? text.from : text.to}>
          <PeerFields {...props} rule={rule} />
        </td>
        <td class="rule-priority" data-label={text.priority} data-invalid={around("priority")}>
          <input
            {...shared("priority", text.priority)}
            type="text"
            inputmode="numeric"
            class="mono"
            value={rule.priority}
            maxlength={5}
            autocomplete="off"
          />
          <Problem name={field("priority")} problems={wrong("priority")} />
        </td>
        <td class="rule-on" data-label={text.on}>
          <input {...shared("enabled", text.on)} type="checkbox" checked={rule.enabled} />
        </td>
        <td class="rule-remove">
          <DraftButton {...props} intent={`remove:${row}`} class="move" label={text.editor.remove(number)}>
            <Icon name="cross" size={15} />
          </DraftButton>
        </td>
      </tr>
      <tr class="rule-note">
        <td />
        <td colspan={7} data-label={text.note} data-invalid={around("description")}>
          <input
            {...shared("description", text.note)}
            type="text"
            value={rule.description}
            placeholder={text.note}
            maxlength={200}
            autocomplete="off"
          />
          <Problem name={field("description")} problems={wrong("description")} />
        </td>
        <td />
      </tr>
    </tbody>
  );
}
