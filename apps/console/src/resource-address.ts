import { tabbedResources } from "./resources/panel-resources.ts";
import { listPath } from "./resources/resource.ts";

const pages: readonly (readonly [prefix: string, path: string])[] = [
  ...tabbedResources.map((resource) => [resource.prefix, listPath(resource)] as const),
  ["job", "/jobs"],
];

/** The page of the resource that an entry is about, if it has one. */
export function resourceAddress(id: string): string | null {
  const path = pages.find(([prefix]) => id.startsWith(`${prefix}_`))?.[1];
  return path === undefined || !/^[\w-]+$/.test(id) ? null : `${path}/${id}`;
}
