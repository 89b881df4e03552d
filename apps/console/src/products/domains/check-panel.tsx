import type { Schemas } from "@kule/contract/schemas";
import { Icon } from "../../layout/icons.tsx";
import { Status, type Tone } from "../../layout/parts.tsx";
import { pageOf } from "../../resources/resource.ts";
import { checkProblems } from "./check-problems.ts";
import type { DelegationProps } from "./props.ts";
import { domains } from "./resource.ts";

type Check = Schemas["DomainCheck"];

const serverTones = {
  serves: "good",
  serves_older: "warning",
  not_serving: "bad",
  silent: "bad",
} as const satisfies Record<Check["name_servers"][number]["state"], Tone>;

/** A check of the name servers and of the delegation at this moment. It changes nothing, so its address can be repeated. */
export function CheckPanel({ view, domain, check }: DelegationProps) {
  const text = view.messages.domains.check;
  const page = `${pageOf(domains, domain)}/delegation`;
  return (
    <section class="panel" id="check" aria-labelledby="check-title">
      <div class="panel-head">
        <h2 id="check-title">{text.title}</h2>
      </div>
      <p class="panel-lead">{text.lead}</p>
      {check === null ? null : <Report view={view} domain={domain} check={check} />}
      <form
        class="acts"
        method="get"
        action={`${page}#check`}
        hx-get={page}
        hx-target="#check"
        hx-select="#check"
        hx-swap="outerMorph"
      >
        <input type="hidden" name="check" value="now" />
        <button type="submit" class="button" {...(check === null ? { "data-kind": "primary" } : {})}>
          {view.messages.domains.delegate.now}
        </button>
      </form>
    </section>
  );
}

function Report({
  view,
  domain,
  check,
}: Pick<DelegationProps, "view" | "domain"> & { readonly check: Check }) {
  const text = view.messages.domains.check;
  return (
    <div class="check-report" data-right={check.is_right ? "" : undefined} role="status">
      <p class="check-word">
        <Icon name={check.is_right ? "check" : "cross"} size={22} />
        {check.is_right ? text.right : text.wrong}
      </p>
      {check.problems.length === 0 ? null : (
        <ul class="check-problems">
          {checkProblems(view.messages, domain, check).map(({ text: words, fix, isEnglish }) => (
            <li lang={isEnglish ? "en" : undefined}>
              <strong class="anywhere">{words}</strong>
              {fix === "" ? null : <span class="anywhere">{fix}</span>}
            </li>
          ))}
        </ul>
      )}
      {check.name_servers.length === 0 ? null : (
        <table class="list">
          <caption class="visually-hidden">{text.title}</caption>
          <thead>
            <tr>
              <th scope="col">{text.server}</th>
              <th scope="col">{text.address}</th>
              <th scope="col">{text.state}</th>
              <th scope="col" class="number">
                {text.serial}
              </th>
            </tr>
          </thead>
          <tbody>
            {check.name_servers.map(({ name, address, state, serial }) => (
              <tr>
                <th scope="row" class="mono anywhere">
                  {name}
                </th>
                <td class="mono anywhere" data-label={text.address}>
                  {address}
                </td>
                <td data-label={text.state}>
                  <Status tone={serverTones[state]}>{text.states[state]}</Status>
                </td>
                <td class="number" data-label={text.serial}>
                  {serial ?? "–"}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}
