import type { Schemas } from "@kule/contract/schemas";
import { Banner, Status, type Tone, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { differenceTexts } from "./difference-text.ts";
import type { OverviewProps } from "./props.ts";

const cloudInitTones = {
  unknown: "idle",
  running: "busy",
  done: "good",
  error: "bad",
} as const satisfies Record<string, Tone>;

/** Shown first when the page's data may be out of date, or the VM differs from the record. */
export function SeenWarnings({ view, server, regions }: OverviewProps) {
  const { inventory } = view.messages;
  const region = regions.find(({ slug }) => slug === server.region);
  const isSilent = region?.status === "unreachable";
  return (
    <>
      {isSilent ? <SilentRegions view={view} regions={[region]} /> : null}
      {server.observation === "stale" && !isSilent ? (
        <Banner kind="warning" id="stale-server">
          <p>
            {inventory.stale}{" "}
            {server.observed_at === null ? null : (
              <strong>{inventory.lastSeen(view.format.dateTime(server.observed_at))}</strong>
            )}
          </p>
        </Banner>
      ) : null}
      {server.drift === null ? null : (
        <Banner kind="warning" id="drift">
          <p>{server.drift.kind === "missing" ? inventory.missing : inventory.changed}</p>
          {server.drift.differences.length === 0 ? null : (
            <ul>
              {differenceTexts(view, server.drift.differences).map((text) => (
                <li>{text}</li>
              ))}
            </ul>
          )}
          {view.session?.operator === true ? (
            <a class="button" href={`/operator/servers/${server.id}/reconcile`}>
              {view.messages.serverReconcile.putRight}
            </a>
          ) : null}
        </Banner>
      )}
    </>
  );
}

/** Unreachable regions: their data is out of date, and requests to them wait. */
export function SilentRegions(props: {
  readonly view: View;
  readonly regions: readonly Schemas["CatalogRegion"][];
}) {
  const { inventory } = props.view.messages;
  const { format, now } = props.view;
  return (
    <>
      {props.regions
        .filter(({ status }) => status === "unreachable")
        .map(({ slug, name, status_since: since }) => (
          <Banner kind="warning" id={`silent-${slug}`}>
            <p>
              <strong>
                {since === null
                  ? inventory.neverHeard(name)
                  : inventory.noNews(name, format.dateTime(since), format.relative(since, now))}
              </strong>{" "}
              {inventory.noNewsMeans}
            </p>
          </Banner>
        ))}
    </>
  );
}

/** The reports of the region and of the guest agent, with their times. */
export function ServerSeen({ view, server }: OverviewProps) {
  const { messages } = view;
  const { inventory } = messages;
  const { guest } = server;
  return (
    <section class="panel" aria-labelledby="seen-title">
      <div class="panel-head">
        <h2 id="seen-title">{inventory.title}</h2>
        <Status tone={server.observation === "fresh" ? "good" : "warning"}>
          {inventory.observation[server.observation]}
        </Status>
      </div>
      <dl class="facts">
        <div>
          <dt>{inventory.seen}</dt>
          <dd>
            {server.observed_at === null ? (
              "–"
            ) : (
              <>
                <When view={view} time={server.observed_at} />
                <small class="hint as-of">{view.format.dateTime(server.observed_at)}</small>
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>{messages.servers.powerState}</dt>
          <dd>{messages.servers.power[server.power_state]}</dd>
        </div>
        {guest === null ? null : (
          <>
            <div>
              <dt>{inventory.agent}</dt>
              <dd>
                {server.power_state === "off"
                  ? inventory.agentOff
                  : guest.agent
                    ? inventory.answers
                    : inventory.silent}
              </dd>
            </div>
            <div>
              <dt>{inventory.cloudInit}</dt>
              <dd>
                <Status tone={cloudInitTones[guest.cloud_init]}>
                  {inventory.cloudInitStates[guest.cloud_init]}
                </Status>
              </dd>
            </div>
            <div>
              <dt>{inventory.system}</dt>
              <dd>{guest.os ?? "–"}</dd>
            </div>
            <div>
              <dt>{inventory.hostname}</dt>
              <dd class="mono">{guest.hostname ?? "–"}</dd>
            </div>
            <div>
              <dt>{inventory.addresses}</dt>
              <dd class="mono">{guest.addresses.length === 0 ? "–" : guest.addresses.join(", ")}</dd>
            </div>
            <div>
              <dt>{inventory.bootedAt}</dt>
              <dd>{guest.boot_at === null ? "–" : <When view={view} time={guest.boot_at} />}</dd>
            </div>
          </>
        )}
      </dl>
    </section>
  );
}
