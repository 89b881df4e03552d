import type { Schemas } from "@kule/contract/schemas";
import { apiCall } from "../../api-call.ts";
import { type FieldProblems, Problem } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { Banner, CallExample, FormSeal, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { conflictText } from "../../problem-messages.ts";
import { whyNot } from "./act-button.tsx";
import { type ResizeForm, type ResizePlan, toResizeBody } from "./resize-form.ts";

/** What the dry run said: not asked, not answered, wrong fields, or an answer. */
export type ResizeCheck = "unchecked" | "away" | "refused" | Schemas["DryRun"];

export type ResizePageProps = {
  readonly view: View;
  readonly server: Schemas["Server"];
  readonly catalog: Schemas["Catalog"];
  /** Empty for whoever may not see them. */
  readonly quotas: readonly Schemas["Quota"][];
  readonly form: ResizeForm;
  readonly plan: ResizePlan | null;
  readonly check: ResizeCheck;
  readonly problems: FieldProblems;
  readonly banner: string | null;
  readonly idempotencyKey: string;
};

export function ResizePage(props: ResizePageProps) {
  const { view, server, banner, idempotencyKey } = props;
  const { messages } = view;
  const action = `/servers/${server.id}/resize`;
  return (
    <Shell view={view} title={`${messages.operations.resize} · ${server.name}`} section="servers">
      <p class="crumbs">
        <a href={`/servers/${server.id}`}>{server.name}</a>
      </p>
      <PageHead title={messages.operations.resize} lead={messages.resize.lead} />
      <form id="resize-form" class="create" method="post" action={action}>
        <FormSeal view={view} idempotencyKey={idempotencyKey} />
        <div
          class="create-choices"
          hx-post={`${action}/preview`}
          hx-trigger="change delay:80ms"
          hx-target="#resize-form"
          hx-select="#resize-form"
          hx-swap="outerMorph"
          hx-sync="this:replace"
        >
          {banner === null ? null : <Banner kind="problem">{banner}</Banner>}
          <Sizes {...props} />
          <DiskChoice {...props} />
          <button type="submit" name="intent" value="check" class="button without-script">
            {messages.create.check}
          </button>
        </div>
        <ResizeSummary {...props} />
      </form>
    </Shell>
  );
}

function Sizes({ view, server, catalog, form, problems }: ResizePageProps) {
  const { messages, format } = view;
  const image = catalog.images.find(({ slug }) => slug === server.image.slug);
  return (
    <fieldset class="choice" data-invalid={problems.package === undefined ? undefined : "true"}>
      <legend>{messages.create.package}</legend>
      <Problem name="package" problems={problems.package} />
      <div class="cards" data-size="small">
        {catalog.packages.map((offered) => {
          const isNow = offered.slug === server.package.slug;
          const fits = isNow || image === undefined || image.packages_allowed.includes(offered.slug);
          return (
            <label class="card">
              <input
                type="radio"
                id={`package-${offered.slug}`}
                name="package"
                value={offered.slug}
                checked={offered.slug === form.package}
                disabled={!fits}
              />
              <span class="card-face">
                <span class="card-size">
                  {offered.slug.toUpperCase()}
                  {isNow ? <span class="tag">{messages.resize.now}</span> : null}
                </span>
                <strong class="figures">{messages.create.vcpu(format.number(offered.vcpu))}</strong>
                <span class="figures">
                  {format.memory(offered.memory_mb)} {messages.create.memory}
                </span>
                <span class="figures">
                  {format.disk(offered.disk_gb)} {messages.create.disk}
                </span>
                {fits || image === undefined ? null : (
                  <span class="why">
                    {messages.create.tooSmall(image.name, format.number(image.min_memory_mb / 1024))}
                  </span>
                )}
              </span>
            </label>
          );
        })}
      </div>
    </fieldset>
  );
}

/** A disk only grows, so that growing it is a choice with no way back. */
function DiskChoice({ view, server, form, plan }: ResizePageProps) {
  const { messages, format } = view;
  const texts = messages.resize;
  const now = format.disk(server.disk_gb);
  if (plan === null) return null;
  return (
    <fieldset class="choice" id="disk-choice">
      <legend>{messages.usage.disk}</legend>
      {plan.canGrow ? (
        <div class="checks">
          <label class="check">
            <input type="radio" id="disk-grow" name="disk" value="grow" checked={!form.keepDisk} />
            <span>
              {texts.diskGrows(format.disk(plan.wanted.disk_gb))}
              <small>{texts.diskGrowsHint}</small>
            </span>
          </label>
          <label class="check">
            <input type="radio" id="disk-keep" name="disk" value="keep" checked={form.keepDisk} />
            <span>
              {texts.diskStays(now)}
              <small>{texts.diskStaysHint}</small>
            </span>
          </label>
        </div>
      ) : (
        <p class="hint">{plan.keepsLarger ? texts.diskKeptLarger(now) : texts.diskSame(now)}</p>
      )}
    </fieldset>
  );
}

/** Now beside then, what it means, what stands in the way, and the button. */
function ResizeSummary(props: ResizePageProps) {
  const { view, server, form, plan, check } = props;
  const { messages, format } = view;
  const texts = messages.resize;
  const why =
    whyNot(view, server, "resize", "server:update") ??
    (plan?.changesNothing === true ? texts.changesNothing : null);
  return (
    <aside class="summary" id="resize-summary" aria-labelledby="summary-title">
      <h2 id="summary-title">{messages.create.summary}</h2>
      <p class="summary-name mono">{server.name}</p>
      {plan === null ? null : (
        <table class="compare">
          <thead>
            <tr>
              <td></td>
              <th scope="col">{texts.now}</th>
              <th scope="col">{texts.after}</th>
            </tr>
          </thead>
          <tbody>
            <Compared
              label={messages.usage.vcpu}
              from={format.number(server.package.vcpu)}
              to={format.number(plan.wanted.vcpu)}
            />
            <Compared
              label={messages.usage.memory}
              from={format.memory(server.package.memory_mb)}
              to={format.memory(plan.wanted.memory_mb)}
            />
            <Compared
              label={messages.usage.disk}
              from={format.disk(server.disk_gb)}
              to={format.disk(plan.diskGb)}
            />
          </tbody>
        </table>
      )}
      {plan === null || plan.changesNothing ? null : (
        <p class="hint" id="restart-meaning">
          {server.status !== "running"
            ? texts.staysStopped
            : plan.needsRestart
              ? texts.restarts
              : texts.noRestart}
        </p>
      )}
      <QuotaLeft {...props} />
      <div class="check-result" id="check-result" aria-live="polite">
        <CheckResult view={view} check={check} />
      </div>
      <input type="hidden" name="allow_restart" value={plan?.needsRestart === true ? "true" : "false"} />
      <button
        type="submit"
        name="intent"
        value="resize"
        class="button"
        data-kind="primary"
        data-size="wide"
        disabled={why !== null}
        aria-describedby={why === null ? undefined : "resize-why"}
      >
        {plan?.needsRestart === true ? messages.operations.resizeAndRestart : messages.operations.resize}
      </button>
      {why === null ? null : (
        <p class="why" id="resize-why">
          {why}
        </p>
      )}
      <CallExample
        view={view}
        id="resize-call"
        call={apiCall({
          apiUrl: view.apiUrl,
          method: "POST",
          path: `/servers/${server.id}/resize`,
          body: toResizeBody(form, plan, plan?.needsRestart === true),
        })}
      />
    </aside>
  );
}

function Compared(props: { readonly label: string; readonly from: string; readonly to: string }) {
  return (
    <tr data-changed={props.from === props.to ? undefined : ""}>
      <th scope="row">{props.label}</th>
      <td class="figures">{props.from}</td>
      <td class="figures">{props.to}</td>
    </tr>
  );
}

/** How much more it takes of each quota that has a limit, and how much there is. */
function QuotaLeft({ view, server, quotas, plan }: ResizePageProps) {
  const { messages, format } = view;
  if (plan === null) return null;
  const more = {
    vcpu: plan.wanted.vcpu - server.package.vcpu,
    memory_mb: plan.wanted.memory_mb - server.package.memory_mb,
    disk_gb: plan.diskGb - server.disk_gb,
  };
  const lines = (["vcpu", "memory_mb", "disk_gb"] as const).flatMap((name) => {
    const quota = quotas.find((each) => each.name === name);
    if (quota === undefined || quota.limit === null || more[name] <= 0) return [];
    const amount = (value: number) =>
      name === "vcpu"
        ? format.number(value)
        : name === "memory_mb"
          ? format.memory(value)
          : format.disk(value);
    const left = Math.max(0, quota.limit - quota.used);
    return [
      {
        isFull: more[name] > left,
        text: messages.resize.quotaLeft(messages.usage.quotaNames[name], amount(more[name]), amount(left)),
      },
    ];
  });
  if (lines.length === 0) return null;
  return (
    <ul class="quota-left" aria-label={messages.usage.quotas}>
      {lines.map(({ text, isFull }) => (
        <li data-tone={isFull ? "bad" : undefined}>{text}</li>
      ))}
    </ul>
  );
}

function CheckResult({ view, check }: Pick<ResizePageProps, "view" | "check">) {
  const { messages } = view;
  if (check === "unchecked") return <p class="hint">{messages.resize.unchecked}</p>;
  if (check === "refused") return <p class="hint">{messages.create.refused}</p>;
  if (check === "away") return <p class="hint">{messages.create.uncheckable}</p>;
  if (check.blockers.length === 0)
    return (
      <p class="ready">
        <Icon name="check" size={17} />
        {messages.create.ready}
      </p>
    );
  return (
    <div class="blockers">
      <p>
        <Icon name="alert" size={17} />
        {messages.create.blocked}
      </p>
      <ul>
        {check.blockers.map((blocker) => (
          <li>{conflictText(blocker, messages)}</li>
        ))}
      </ul>
    </div>
  );
}
