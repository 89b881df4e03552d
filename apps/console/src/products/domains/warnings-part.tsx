import { Banner } from "../../layout/parts.tsx";
import { pageOf } from "../../resources/resource.ts";
import type { DomainTabProps } from "./props.ts";
import { domains } from "./resource.ts";

type Props = Pick<DomainTabProps, "view" | "domain"> & { readonly on: "records" | "delegation" | "settings" };

/** What keeps the domain from being served as shown, and where to do something about it. */
export function Warnings({ view, domain, on }: Props) {
  const text = view.messages.domains.warnings;
  const page = pageOf(domains, domain);
  const { status, status_reason, drift, delegation } = domain;
  const toDelegation =
    on === "delegation" ? null : (
      <>
        {" "}
        <a href={`${page}/delegation`}>{text.toDelegation}</a>
      </>
    );
  return (
    <>
      {status === "expired" || status === "lost" ? <Banner kind="problem">{text[status]}</Banner> : null}
      {status === "pending" && on !== "delegation" ? (
        <Banner kind="warning">
          {text.pending} <a href={`${page}/delegation`}>{text.toProof}</a>
        </Banner>
      ) : null}
      {status_reason === null ? null : (
        <Banner kind="problem">
          {view.messages.locale === "en" ? `${text.failed} ${status_reason.message}` : text.failed}
          {status_reason.job_id === null ? null : (
            <>
              {" "}
              <a href={`/jobs/${status_reason.job_id}`}>{text.failedJob}</a>
            </>
          )}
        </Banner>
      )}
      {drift === null || on === "settings" ? null : (
        <Banner kind="warning">
          {text.drift} <a href={`${page}/settings#drift`}>{text.driftLink}</a>
        </Banner>
      )}
      {status === "active" &&
      on === "records" &&
      ["none", "elsewhere", "partial"].includes(delegation.state) ? (
        <Banner kind="warning">
          {delegation.state === "partial" ? text.partlyDelegated : text.notDelegated}
          {toDelegation}
        </Banner>
      ) : null}
    </>
  );
}
