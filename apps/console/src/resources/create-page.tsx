import type { Child } from "hono/jsx";
import { CreateFrame } from "../layout/create-frame.tsx";
import type { View } from "../layout/view.ts";
import type { PageBanner } from "../page-banner.ts";
import { type AnyItem, type ListedResource, listCrumbs } from "./resource.ts";

/** The page that creates one of a resource; the form is the product's own. */
export function ResourceCreatePage<Item extends AnyItem>(props: {
  readonly view: View;
  readonly resource: ListedResource<Item>;
  readonly banner: PageBanner;
  readonly lead?: string;
  readonly children: Child;
}) {
  const { view, resource, ...frame } = props;
  return (
    <CreateFrame
      {...frame}
      view={view}
      section={resource.section}
      crumbs={listCrumbs(resource, view.messages)}
      title={resource.listed.texts(view.messages).create}
    />
  );
}
