import { ActionButton } from "../../layout/action-button.tsx";
import { TextField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { keptForm, problemsOf, typedIn } from "../../refused-form.ts";
import { pageOf } from "../../resources/resource.ts";
import { whyNotChangeSubnet } from "./disabled-reason.ts";
import type { SubnetTabProps } from "./props.ts";
import { subnets } from "./subnet-resource.ts";

/** The form for name and name servers of a subnet. */
export function SubnetSettings(props: SubnetTabProps) {
  const { view, subnet, form, idempotencyKey } = props;
  const { common, network: text } = view.messages;
  const problems = problemsOf(form, "settings");
  return (
    <section class="panel" id="settings" aria-labelledby="settings-title" {...keptForm(form, "settings")}>
      <div class="panel-head">
        <h2 id="settings-title">{text.changeSubnet}</h2>
      </div>
      <form class="form" method="post" action={`${pageOf(subnets, subnet)}/settings`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-settings`} />
        <TextField
          view={view}
          id="subnet-name"
          name="name"
          label={common.name}
          value={typedIn(form, "settings", "name", subnet.name)}
          problems={problems}
          required
          mono
          maxlength={63}
        />
        <TextField
          view={view}
          id="subnet-dns"
          name="dns_servers"
          label={text.dns}
          value={typedIn(form, "settings", "dns_servers", subnet.dns_servers.join(", "))}
          hint={text.dnsHint}
          problems={problems}
          optional
          mono
          maxlength={60}
        />
        <ActionButton why={whyNotChangeSubnet(view, subnet)}>{common.save}</ActionButton>
      </form>
    </section>
  );
}
