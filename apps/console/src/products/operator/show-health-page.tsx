import type { CalledOperation } from "../../api-operation.ts";
import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { Banner, PageHead, Status, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import {
  type Amount,
  checksOf,
  type Health,
  type HealthCheck,
  type HealthTone,
  memoryOf,
  troublesOf,
  worstFirst,
} from "./health.ts";
import { NoRegions } from "./no-regions-part.tsx";
import { type KnownRegion, regionTones } from "./region-panel.tsx";

type Props = { readonly view: View; readonly health: Health };

const healthCalls: readonly CalledOperation[] = [
  { operation: "listRegions" },
  { operation: "listStuckJobs" },
  { operation: "listOperatorJobs", query: { status: "failed" } },
  { operation: "listDrift" },
  { operation: "getRestore" },
  { operation: "getInvariants" },
];

/** Whether the installation is well; what is not is first, with a link to the page where it is put right. */
export function HealthPage({ view, health }: Props) {
  const text = view.messages.health;
  const checks = checksOf(health, view.now);
  return (
    <Shell view={view} title={text.title} section="operator">
      <OperatorTabs view={view} current="health" />
      <PageHead title={text.title} lead={text.lead} api={<ApiDrawer view={view} calls={healthCalls} />} />
      <div
        id="health-live"
        class="stack"
        data-poll=""
        hx-get="/operator"
        hx-trigger="every 10s, refresh"
        hx-select="#health-live"
        hx-swap="outerMorph"
      >
        {health.regions.length === 0 ? (
          <NoRegions view={view} />
        ) : (
          <Findings view={view} findings={findingsOf(view, health, checks)} />
        )}
        <Checks view={view} checks={checks} />
        {health.regions.length === 0 ? null : <Regions view={view} health={health} />}
      </div>
    </Shell>
  );
}

type Finding = { readonly tone: HealthTone; readonly text: string; readonly path: string };

function findingsOf(view: View, health: Health, checks: readonly HealthCheck[]): readonly Finding[] {
  const text = view.messages.health;
  const ofRegions = troublesOf(health).map(({ name, tone, region }) => ({
    tone,
    text: text.regionFindings[name](region.name),
    path: `/operator/regions#region-${region.slug}`,
  }));
  const ofChecks = checks
    .filter(({ tone }) => tone !== "good")
    .map(({ name, tone, amount, path }) => ({
      tone,
      text: text.findings[name](amountText(view, amount)),
      path,
    }));
  return worstFirst([...ofRegions, ...ofChecks]);
}

function Findings({ view, findings }: { readonly view: View; readonly findings: readonly Finding[] }) {
  const text = view.messages.health;
  const [worst] = findings;
  if (worst === undefined) return <Banner kind="notice">{text.allWell}</Banner>;
  return (
    <section class="panel" aria-labelledby="findings-title">
      <div class="panel-head">
        <h2 id="findings-title">{text.wrong(view.format.number(findings.length))}</h2>
        <Status tone={worst.tone}>{text.tones[worst.tone]}</Status>
      </div>
      <ul class="rows findings">
        {findings.map(({ tone, text: said, path }) => (
          <li data-tone={tone}>
            <Status tone={tone}>{text.tones[tone]}</Status>
            <a href={path}>{said}</a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Checks({ view, checks }: { readonly view: View; readonly checks: readonly HealthCheck[] }) {
  const text = view.messages.health;
  return (
    <table class="list">
      <caption class="visually-hidden">{text.checks}</caption>
      <thead>
        <tr>
          <th scope="col">{text.check}</th>
          <th scope="col">{view.messages.common.status}</th>
          <th scope="col" class="number">
            {text.amount}
          </th>
        </tr>
      </thead>
      <tbody>
        {checks.map(({ name, tone, amount, path }) => (
          <tr data-tone={tone}>
            <th scope="row">
              <a href={path}>{text.checkNames[name]}</a>
            </th>
            <td data-label={view.messages.common.status}>
              <Status tone={tone}>{text.tones[tone]}</Status>
            </td>
            <td class="figures number" data-label={text.amount}>
              {amountText(view, amount)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Regions({ view, health }: Props) {
  const { operator, health: text, common } = view.messages;
  return (
    <>
      <table class="list">
        <caption class="visually-hidden">{operator.title}</caption>
        <thead>
          <tr>
            <th scope="col">{common.region}</th>
            <th scope="col">{common.status}</th>
            <th scope="col">{text.agentSeen}</th>
            <th scope="col" class="number">
              {operator.servers}
            </th>
            <th scope="col" class="number">
              {operator.vcpuFree}
            </th>
            <th scope="col" class="number">
              {operator.memory}
            </th>
            <th scope="col">{operator.look}</th>
          </tr>
        </thead>
        <tbody>
          {health.regions.map((known) => (
            <RegionRow view={view} known={known} />
          ))}
        </tbody>
      </table>
      {health.hasMoreRegions ? (
        <p class="hint">{text.moreRegions(view.format.number(health.regions.length))}</p>
      ) : null}
    </>
  );
}

function RegionRow({ view, known }: { readonly view: View; readonly known: KnownRegion }) {
  const { operator, health: text, common, inventory } = view.messages;
  const { format } = view;
  const { region, capacity } = known;
  const { agent } = region;
  const memory = memoryOf(capacity);
  const total = (of: "servers" | "vcpu_free") =>
    capacity.nodes.length === 0
      ? "–"
      : format.number(capacity.nodes.reduce((sum, node) => sum + Math.max(0, node[of]), 0));
  return (
    <tr id={`health-${region.slug}`} data-tone={regionTones[region.status]}>
      <th scope="row">
        <a href={`/operator/regions#region-${region.slug}`}>{region.name}</a>
      </th>
      <td data-label={common.status}>
        <Status tone={regionTones[region.status]}>{operator.status[region.status]}</Status>
      </td>
      <td data-label={text.agentSeen}>
        {agent !== null ? (
          <When view={view} time={agent.reported_at} />
        ) : region.mode === "direct" ? (
          text.noAgent
        ) : (
          operator.agentNever
        )}
      </td>
      <td class="figures number" data-label={operator.servers}>
        {total("servers")}
      </td>
      <td class="figures number" data-label={operator.vcpuFree}>
        {total("vcpu_free")}
      </td>
      <td class="figures number" data-label={operator.memory}>
        {capacity.nodes.length === 0
          ? "–"
          : operator.freeOf(format.memory(memory.freeMb), format.memory(memory.totalMb))}
      </td>
      <td data-label={operator.look}>
        {capacity.last_pass === null ? (
          inventory.observation.none
        ) : (
          <>
            <When view={view} time={capacity.last_pass.ended_at} />
            {capacity.last_pass.complete ? null : ` · ${operator.lookIncomplete}`}
          </>
        )}
      </td>
    </tr>
  );
}

function amountText({ format, messages }: View, { count, isMore }: Amount): string {
  return isMore ? messages.health.moreThan(format.number(count)) : format.number(count);
}
