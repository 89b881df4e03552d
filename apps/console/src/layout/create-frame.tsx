import type { Child } from "hono/jsx";
import type { PageBanner } from "../page-banner.ts";
import type { Crumb } from "./crumbs-part.tsx";
import { PageNotice } from "./page-notice.tsx";
import { PageHead } from "./parts.tsx";
import type { Section } from "./rail-sections.tsx";
import { Shell } from "./shell.tsx";
import type { View } from "./view.ts";

/** A page that creates something: the frame around the form and its call, which are the product's own. */
export function CreateFrame(props: {
  readonly view: View;
  readonly section: Section;
  /** The list that will contain it, and the pages above the list. */
  readonly crumbs: readonly Crumb[];
  readonly title: string;
  readonly lead?: string;
  readonly banner: PageBanner;
  /** The tabs of a section. */
  readonly above?: Child;
  readonly children: Child;
  /** What explains the choices of the form. */
  readonly below?: Child;
}) {
  const { view, title, lead } = props;
  return (
    <Shell view={view} title={title} section={props.section} crumbs={props.crumbs}>
      {props.above}
      <PageHead title={title} {...(lead === undefined ? {} : { lead })} />
      <PageNotice banner={props.banner} />
      <section class="panel narrow" aria-label={title}>
        {props.children}
      </section>
      {props.below}
    </Shell>
  );
}
