import type { Schemas } from "@kule/contract/schemas";
import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { operatorCrumbs } from "../../layout/operator-crumbs.ts";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { Banner, PageHead, Status, type Tone, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { InvariantsPageProps } from "./props.ts";

type Report = Schemas["InvariantReport"];

/** The database's invariants, and the results of the worker's last check. */
export function InvariantsPage(props: InvariantsPageProps) {
  const { view, report, isUnanswered } = props;
  const text = view.messages.invariants;
  return (
    <Shell view={view} title={text.title} section="operator" crumbs={operatorCrumbs(view)}>
      <OperatorTabs view={view} current="invariants" />
      <PageHead
        title={text.title}
        lead={text.lead}
        api={<ApiDrawer view={view} calls={[{ operation: "getInvariants", query: { fresh: "true" } }]} />}
      >
        <form method="get" action="/operator/invariants">
          <input type="hidden" name="fresh" value="true" />
          <button type="submit" class="button">
            {text.lookNow}
          </button>
        </form>
      </PageHead>
      {isUnanswered ? <Banner kind="problem">{text.unanswered}</Banner> : null}
      <div
        id="invariants-live"
        class="stack"
        data-poll=""
        hx-get="/operator/invariants"
        hx-trigger="every 30s, refresh"
        hx-select="#invariants-live"
        hx-swap="outerMorph"
      >
        <Verdict view={view} report={report} />
        {report.violations.length === 0 ? null : <Violations view={view} report={report} />}
        {report.checked.length === 0 ? null : <Checked view={view} report={report} />}
        {report.not_checked.length === 0 ? null : <NotChecked view={view} report={report} />}
      </div>
    </Shell>
  );
}

type Props = { readonly view: View; readonly report: Report };

/** A report that is too old proves nothing, even without violations. */
function verdictOf(report: Report): {
  readonly tone: Tone;
  readonly name: "never" | "broken" | "stale" | "held";
} {
  if (report.checked_at === null) return { tone: "idle", name: "never" };
  if (report.violations_total > 0) return { tone: "bad", name: "broken" };
  return report.stale ? { tone: "warning", name: "stale" } : { tone: "good", name: "held" };
}

function Verdict({ view, report }: Props) {
  const { format } = view;
  const text = view.messages.invariants;
  const { tone, name } = verdictOf(report);
  const [violations, checks] = [report.violations_total, report.checked.length].map(format.number);
  return (
    <section class="panel" aria-labelledby="verdict-title">
      <div class="panel-head">
        <h2 id="verdict-title">
          {name === "broken"
            ? text.broken(violations ?? "")
            : name === "held"
              ? text.held(checks ?? "")
              : text[name]}
        </h2>
        <Status tone={tone}>{text.verdicts[name]}</Status>
      </div>
      {name === "held" ? null : <p class="panel-lead">{text.hints[name]}</p>}
      {report.checked_at === null ? null : (
        <dl class="facts" data-columns="">
          <div>
            <dt>{text.lookedAt}</dt>
            <dd>
              <When view={view} time={report.checked_at} />
              {report.stale ? ` · ${text.stale}` : null}
            </dd>
          </div>
          <div>
            <dt>{text.took}</dt>
            <dd>{format.duration(report.duration_ms ?? 0)}</dd>
          </div>
          {report.interval_seconds === null ? null : (
            <div>
              <dt>{text.every}</dt>
              <dd>{format.duration(report.interval_seconds * 1000)}</dd>
            </div>
          )}
          <div>
            <dt>{text.completeSince}</dt>
            <dd>
              {report.complete_since === null ? (
                text.notComplete
              ) : (
                <When view={view} time={report.complete_since} />
              )}
            </dd>
          </div>
        </dl>
      )}
    </section>
  );
}

function Violations({ view, report }: Props) {
  const text = view.messages.invariants;
  return (
    <section class="panel danger" aria-labelledby="violations-title">
      <div class="panel-head">
        <h2 id="violations-title">{text.violations}</h2>
      </div>
      <table class="list">
        <caption class="visually-hidden">{text.violations}</caption>
        <thead>
          <tr>
            <th scope="col">{text.promise}</th>
            <th scope="col">{text.subject}</th>
            <th scope="col">{text.since}</th>
          </tr>
        </thead>
        <tbody>
          {report.violations.map(({ invariant, check, subject, since }) => (
            <tr data-tone="bad">
              <th scope="row">
                <span class="tag">{invariant}</span> <span lang="en">{check}</span>
              </th>
              <td class="mono breakable" data-label={text.subject}>
                {subject}
              </td>
              <td data-label={text.since}>
                <When view={view} time={since} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {report.violations_total > report.violations.length ? (
        <p class="hint">
          {text.more(view.format.number(report.violations_total - report.violations.length))}
        </p>
      ) : null}
      <p class="hint">{text.whatToDo}</p>
    </section>
  );
}

/** Grouped by promise: each has several checks, with the API's sentences. */
function Checked({ view, report }: Props) {
  const { format } = view;
  const text = view.messages.invariants;
  const invariants = [...new Set(report.checked.map(({ invariant }) => invariant))].toSorted((a, b) =>
    a.localeCompare(b, "en", { numeric: true }),
  );
  return (
    <section class="panel" aria-labelledby="checked-title">
      <div class="panel-head">
        <h2 id="checked-title">{text.checked}</h2>
      </div>
      <p class="panel-lead">{text.checkedLead}</p>
      {invariants.map((invariant) => {
        const checks = report.checked.filter((each) => each.invariant === invariant);
        const broken = checks.reduce((sum, each) => sum + each.violations, 0);
        return (
          <details class="promise" id={`promise-${invariant}`} open={broken > 0}>
            <summary>
              <span class="tag">{invariant}</span>
              <span class="promise-name">{text.names[invariant] ?? invariant}</span>
              <Status tone={broken === 0 ? "good" : "bad"}>
                {broken === 0 ? text.holds : text.broken(format.number(broken))}
              </Status>
            </summary>
            <ul class="checks-told" lang="en">
              {checks.map((each) => (
                <li data-tone={each.violations === 0 ? undefined : "bad"}>
                  <span>{each.check}</span>
                  <span class="hint figures">{`${format.number(each.duration_ms)} ms`}</span>
                </li>
              ))}
            </ul>
          </details>
        );
      })}
    </section>
  );
}

function NotChecked({ view, report }: Props) {
  const text = view.messages.invariants;
  return (
    <section class="panel" aria-labelledby="not-checked-title">
      <div class="panel-head">
        <h2 id="not-checked-title">{text.notChecked}</h2>
      </div>
      <dl class="facts">
        {report.not_checked.map(({ invariant, reason }) => (
          <div>
            <dt>
              <span class="tag">{invariant}</span> {text.names[invariant] ?? invariant}
            </dt>
            {Object.hasOwn(text.notCheckedBecause, invariant) ? (
              <dd>{text.notCheckedBecause[invariant]}</dd>
            ) : (
              <dd lang="en">{reason}</dd>
            )}
          </div>
        ))}
      </dl>
    </section>
  );
}
