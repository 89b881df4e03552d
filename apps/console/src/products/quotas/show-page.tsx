import type { Schemas } from "@kule/contract/schemas";
import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { Banner, PageHead, Status } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { FillBar } from "../usage/bars-part.tsx";

type Quota = Schemas["Quota"];

/** The page where resources of the quota can be deleted. */
const places: Readonly<Partial<Record<Quota["name"], string>>> = {
  servers: "/servers",
  vcpu: "/servers",
  memory_mb: "/servers",
  disk_gb: "/servers",
  networks: "/networks",
  subnets: "/networks",
  ssh_keys: "/ssh-keys",
  public_ips: "/public-ips",
  firewalls: "/firewalls",
  firewall_rules: "/firewalls",
  gateways: "/gateways",
  load_balancers: "/load-balancers",
  domains: "/domains",
  certificates: "/certificates",
  members: "/members",
};

/** The use of each quota, and how to lower it. */
export function QuotasPage({ view, quotas }: { readonly view: View; readonly quotas: Schemas["QuotaList"] }) {
  const { messages } = view;
  const text = messages.quotas;
  const full = quotas.items.filter((quota) => standing(quota) === "full");
  return (
    <Shell view={view} title={text.title} section="quotas">
      <PageHead
        title={text.title}
        lead={text.lead}
        api={<ApiDrawer view={view} calls={[{ operation: "listQuotas" }]} />}
      >
        <a class="button" href="/usage">
          {text.toUsage}
        </a>
      </PageHead>
      {full.length === 0 ? null : (
        <Banner kind="warning">
          {text.fullNow(full.map(({ name }) => messages.usage.quotaNames[name]).join(", "))}{" "}
          <a href="#when-full">{text.whenFull}</a>
        </Banner>
      )}
      <section class="panel" aria-label={text.title}>
        <ul class="quotas">
          {quotas.items.map((quota) => (
            <Line view={view} quota={quota} />
          ))}
        </ul>
      </section>
      <section class="panel" id="when-full" aria-labelledby="when-full-title">
        <div class="panel-head">
          <h2 id="when-full-title">{text.whenFull}</h2>
        </div>
        <p>{text.whenFullAsk}</p>
        <p class="hint">{text.whenFullFree}</p>
      </section>
    </Shell>
  );
}

function Line({ view, quota }: { readonly view: View; readonly quota: Quota }) {
  const { quotas: text, usage } = view.messages;
  const name = usage.quotaNames[quota.name];
  const state = standing(quota);
  const place = places[quota.name];
  return (
    <li id={`quota-${quota.name}`}>
      <span class="quota-name">{name}</span>
      <span class="quota-figures">
        {quota.limit === null
          ? usage.unlimited(amountOf(view, quota, quota.used))
          : usage.usedOf(amountOf(view, quota, quota.used), amountOf(view, quota, quota.limit))}
        {quota.reserved === 0 ? null : (
          <small class="hint"> {usage.reserved(amountOf(view, quota, quota.reserved))}</small>
        )}{" "}
        {state === null ? null : <Status tone={state === "full" ? "bad" : "warning"}>{text[state]}</Status>}
      </span>
      <FillBar label={name} used={quota.used} limit={quota.limit} />
      {state === null || place === undefined ? null : (
        <a class="hint" href={place}>
          {text.makeRoom(name)}
        </a>
      )}
    </li>
  );
}

function standing({ used, limit }: Quota): "full" | "nearlyFull" | null {
  if (limit === null) return null;
  if (used >= limit) return "full";
  return used >= limit * 0.8 ? "nearlyFull" : null;
}

/** In the quota's usual unit. */
export function amountOf({ format }: View, { unit }: Quota, value: number): string {
  if (unit === "MB") return format.memory(value);
  return unit === "GB" ? format.disk(value) : format.number(value);
}
