import type { Schemas } from "@kule/contract/schemas";
import { Status, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";

type Props = { readonly view: View; readonly releases: Schemas["AgentReleases"] };

/** What the folder of releases has, and what in it cannot be offered. */
export function Releases({ view, releases }: Props) {
  const text = view.messages.agentUpdates;
  return (
    <section class="panel" id="releases" aria-labelledby="releases-title">
      <div class="panel-head">
        <h2 id="releases-title">{text.releases}</h2>
      </div>
      {releases.configured ? null : <p class="hint">{text.notConfigured}</p>}
      {releases.configured && releases.releases.length === 0 ? <p class="hint">{text.noReleases}</p> : null}
      {releases.releases.length === 0 ? null : <ReleaseTable view={view} releases={releases} />}
      {releases.problems.length === 0 ? null : (
        <ul>
          {releases.problems.map(({ path, message }) => (
            <li>
              <Status tone="bad">
                <span class="mono breakable">{path}</span>
              </Status>{" "}
              <span class="hint">{message}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function ReleaseTable({ view, releases }: Props) {
  const text = view.messages.agentUpdates;
  return (
    <table class="list">
      <caption class="visually-hidden">{text.releases}</caption>
      <thead>
        <tr>
          <th scope="col">{text.version}</th>
          <th scope="col">{text.channel}</th>
          <th scope="col">{text.released}</th>
          <th scope="col">{text.expires}</th>
          <th scope="col">{text.files}</th>
        </tr>
      </thead>
      <tbody>
        {releases.releases.map((release) => (
          <tr id={`release-${release.version}`}>
            <th scope="row" class="mono">
              {release.version}
              {release.rollback_to ? <div class="hint">{text.rollbackTo}</div> : null}
            </th>
            <td data-label={text.channel}>{text.channels[release.channel]}</td>
            <td data-label={text.released}>
              <When view={view} time={release.released_at} />
            </td>
            <td data-label={text.expires}>
              {release.expired ? (
                <Status tone="bad">{text.expired}</Status>
              ) : (
                <When view={view} time={release.expires_at} />
              )}
            </td>
            <td data-label={text.files}>
              <ul>
                {release.files.map(({ architecture, problem }) => (
                  <li>
                    <Status tone={problem === null ? "good" : "bad"}>{architecture}</Status>
                    {problem === null ? null : <span class="hint"> {problem}</span>}
                  </li>
                ))}
              </ul>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
